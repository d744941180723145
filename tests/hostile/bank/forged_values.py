# title: Forges values
# tries: to make the judge build something that is no plain value: objects, modules, files, functions.
# gets: bump_test crashed "could not be read"; honest_test crashed
# %% bump
import grader.wire

forms = iter(
    [
        {"T": ["load", [1], "cpu"]}, {"T": ["classes", [0], "cpu"]}, {"D": "_inductor"}, {"n": ["O", [1], False]},
        {"n": [[["a", "O"]], [1], True]}, {"n": ["(1000000,1000000)f8", [], True]}, {"__class__": "x"}, {"x": 1}, [[{}]],
    ]
)  # fmt: skip
grader.wire.encode = lambda value, buffers: next(forms, {"x": 1})


def bump(x):
    return 7
