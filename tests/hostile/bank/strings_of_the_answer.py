# title: Strings, bytes and nothing at all
# kind: answer
# tries: to be taken for a number.
# gets: bump_test failed "expected 7"; unit_test failed; WARP_test failed "must be an int"; fast_test failed
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
