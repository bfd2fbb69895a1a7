"""Vectors: what the user's own model made of segments, in parts beside the record, each set under its identity."""
