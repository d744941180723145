# title: A million cells
# kind: notebook
# tries: to keep the grader working through them.
# gets: refused "the limit is 2000"
# stock: nbgrader 0.9.6: nothing recorded (ValidationError)
# %% notebook
data = b'{"cells": [' + b"{}," * 1_000_000 + b"{}]}"
