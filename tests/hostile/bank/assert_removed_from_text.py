# title: Rewrites source before it runs
# tries: to comment asserts out of all cells that come after it, by an input transformer.
# gets: bump_test failed "expected 7"
# %% bump
import re

get_ipython().input_transformers_cleanup.append(
    lambda lines: [re.sub(r"^(\s*)assert .*", r"\1pass", line) for line in lines]
)


def bump(x):
    return 0
