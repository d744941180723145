# title: Redefines names that the test uses
# kind: notebook
# tries: to change the meaning of names in the test (truth, expected, right, draw).
# gets: KINDS_test failed; bump_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, KINDS_test 2/2, honest_test 1/1
# %% KINDS
KINDS = {}
truth = {}
right = 4
sum = lambda *args: 4
random = type("random", (), {"Random": lambda seed: None})
seed = lambda: 1
number = 2
# %% bump
def bump(x):
    return {2: 7}.get(x)
