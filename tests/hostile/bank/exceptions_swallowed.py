# title: Handles exceptions itself
# tries: to swallow the AssertionError by an exception handler of its own.
# gets: bump_test failed "expected 7"
# %% bump
get_ipython().set_custom_exc((BaseException,), lambda shell, kind, error, trace, tb_offset=None: None)


def bump(x):
    return 0
