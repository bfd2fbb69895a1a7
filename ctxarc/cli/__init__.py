"""The command line: one small file a command, and the only place that prints, colours and ends the process.

``main`` holds the table of commands and the map from what went wrong to an exit status; ``output`` is the only way to
stdout and stderr; ``options`` holds what several commands take. A command file defines its options, calls one
operation, and prints what it returns.
"""
