# title: Integer of 60 million bits
# kind: answer
# tries: to stop the judge with a number that cannot be printed.
# gets: bump_test failed; WARP_test failed
# stock: nbgrader 0.9.6: bump_test 0/2, WARP_test 0/1, honest_test 1/1
# %% bump
def bump(x):
    return 1 << 60_000_000
# %% WARP
WARP = -(1 << 60_000_000)
