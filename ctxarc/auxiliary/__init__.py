"""The auxiliary plane: what is computed from the turns, and can be computed again.

Nothing here writes to the record; deleting all that these modules made loses nothing.
"""
