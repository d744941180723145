# title: Nested JSON without end
# kind: notebook
# tries: to run whoever reads the file into the recursion limit.
# gets: refused "nested too deeply"
# stock: nbgrader 0.9.6: nothing recorded (RecursionError)
# %% notebook
data = b'{"cells": ' + b"[" * 1_000_000
