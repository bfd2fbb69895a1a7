"""Models of users, as ``embed`` speaks to them: a file for each way, behind the interface in ``model``.

Nothing here computes a vector. ``served`` has what all servers have in common, ``http`` a request with its retries.
"""
