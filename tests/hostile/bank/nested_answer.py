# title: List nested 10,000 levels deep
# kind: answer
# tries: to hit the judge's recursion limit.
# gets: bump_test failed "nested more than"; WARP_test failed "nested more than"
# stock: nbgrader 0.9.6: bump_test 0/2, WARP_test 0/1, honest_test 1/1
# %% bump
deep = []
for _ in range(10_000):
    deep = [deep]


def bump(x):
    return deep
# %% WARP
WARP = deep
