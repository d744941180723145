# title: Hides tracebacks
# kind: comparison
# tries: to fail without a traceback, so that a grader that looks for error outputs sees none.
# seen: nbgrader pull request 1324
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
import IPython.core.interactiveshell

IPython.core.interactiveshell.InteractiveShell.showtraceback = lambda *args, **kwargs: None


def bump(x):
    return 0
