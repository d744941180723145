# title: Number with a million digits
# kind: notebook
# tries: to keep the process that reads the file converting digits.
# gets: refused "damaged"
# stock: nbgrader 0.9.6: nothing recorded (NotJSONError)
# %% notebook
data = b'{"nbformat": ' + b"9" * 1_000_000 + b', "cells": []}'
