# title: Endlessly nested JSON
# kind: notebook
# tries: to hit the recursion limit of the process that reads the file.
# gets: refused "nested too deeply"
# stock: nbgrader 0.9.6: nothing recorded (RecursionError)
# %% notebook
data = b'{"cells": ' + b"[" * 1_000_000
