"""The other front door: the operations as tools of the Model Context Protocol, over stdio.

:mod:`server` speaks the protocol, and loads nothing heavy. :mod:`tools` is the table of tools; a tool is one entry and
one function that calls an operation. :mod:`places` says which paths may be touched, :mod:`answers` how long an answer
may be.
"""
