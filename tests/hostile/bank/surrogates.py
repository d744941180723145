# title: Text that cannot be encoded
# kind: answer
# tries: to break the code that writes results, gradebook, or feedback, with lone surrogates in every text.
# gets: bump_test failed "bump(2) is"; unit_test failed "ValueError"; KINDS_test partial 0.5
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, KINDS_test 0.5/2, honest_test 1/1
# %% first
print("printed \ud800", "\udfff" * 10)
import IPython.display

IPython.display.display({"text/plain": "shown \ud800", "application/json": {"\ud800": ["\udfff"]}}, raw=True)
# %% bump
def bump(x):
    return "answered \ud800"
# %% unit
def unit(v):
    raise ValueError("raised \ud800")
# %% KINDS
KINDS = {"register": "thread", "shared": "\ud800", "\udfff": "grid"}
raise ValueError("\ud83d")
