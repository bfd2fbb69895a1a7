"""The preservation plane: the bytes of every turn, and the log that says which transcript they belong to.

Nothing here imports the auxiliary plane, NumPy, or anything that prints. ``man/ctxa.5`` describes every file.
"""
