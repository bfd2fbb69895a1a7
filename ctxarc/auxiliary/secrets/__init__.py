"""Secrets: the rules by which keys and passwords are recognised in a text, built in or from a file of a user."""
