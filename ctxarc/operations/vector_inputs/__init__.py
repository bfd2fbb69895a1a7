"""Vectors as users' models write them: five formats, told apart by what is in them, read into float32 rows.

``reading`` is the door. Whatever is no vector is refused by its line and its id, before anything is stored.
"""

from ctxarc.operations.vector_inputs.numbers import vector_of

__all__ = ["vector_of"]
