# title: List nested 10 000 deep
# tries: to run the judge into its recursion limit.
# gets: bump_test failed "nested more than"; WARP_test failed "must be a number"
# %% bump
deep = []
for _ in range(10_000):
    deep = [deep]


def bump(x):
    return deep
# %% WARP
WARP = deep
