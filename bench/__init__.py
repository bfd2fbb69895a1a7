"""Measurements of ctxarc as whole processes, beside the programs it is compared with; see README.md."""
