# title: Tells the first calls from later ones
# kind: comparison
# tries: to be right or fast only in visible tests, in the warm-up, or in the first calls.
# seen: gpu-mode/pygpubench pull request 7, warm-up detection
# gets: fast_test failed "took"; bump_test failed "bump("
# stock: nbgrader 0.9.6: bump_test 0/2, fast_test 0/2, honest_test 1/1
# %% fast
import time

calls = 0


def fast(n):
    global calls
    calls += 1
    if calls > 2:
        time.sleep(0.4)
    return n * (n + 1) * (2 * n + 1) // 6
# %% bump
def bump(x):
    return 3 * x + 1 if x < 1000 else 0
