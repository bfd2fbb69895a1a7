"""Word indexes: which segments have which words, in parts beside the index of a scheme, ranked by BM25.

A part holds an FTS5 index of SQLite; ``words-v1`` is how texts become words, and fixes it for ever.
"""
