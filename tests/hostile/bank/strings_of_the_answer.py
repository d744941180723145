# title: Strings, bytes, and None
# kind: answer
# tries: to be accepted as a number.
# gets: bump_test failed "expected 7"; unit_test failed; WARP_test failed "must be an int"; fast_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, WARP_test 0/1, fast_test 0/2, honest_test 1/1
# %% bump
def bump(x):
    return f"{3 * x + 1}"
# %% unit
def unit(v):
    return v.tobytes()
# %% WARP
WARP = "32"
# %% fast
def fast(n):
    pass
