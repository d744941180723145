# title: Handles exceptions itself
# kind: comparison
# tries: to swallow the AssertionError with its own exception handler.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: bump_test 0/2, honest_test 1/1
# %% bump
get_ipython().set_custom_exc((BaseException,), lambda shell, kind, error, trace, tb_offset=None: None)


def bump(x):
    return 0
