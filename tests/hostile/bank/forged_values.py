# title: Forges values
# kind: protocol
# tries: to make the judge construct something that is not a plain value: objects, modules, files, functions.
# gets: bump_test crashed "could not be read"
# stock: not run: aims at our own processes
# %% bump
import grader.processes.wire

forms = iter(
    [
        {"T": ["load", [1], [0], "cpu"]}, {"T": ["classes", [0], [0], "cpu"]}, {"D": "_inductor"}, {"n": ["O", [1], False]},
        {"n": [[["a", "O"]], [1], True]}, {"n": ["(1000000,1000000)f8", [], True]}, {"__class__": "x"}, {"x": 1}, [[{}]],
    ]
)  # fmt: skip
real = grader.processes.wire.encode


def forged(value, buffers):
    form = real(value, buffers)
    if value == (7, []):
        form["t"][0] = next(forms, {"x": 1})
    return form


grader.processes.wire.encode = forged


def bump(x):
    return 7
