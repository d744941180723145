# title: Rewrites source before it runs
# kind: comparison
# tries: to comment out the asserts in all later cells, with an input transformer.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 1/1
# %% bump
import re

get_ipython().input_transformers_cleanup.append(
    lambda lines: [re.sub(r"^(\s*)assert .*", r"\1pass", line) for line in lines]
)


def bump(x):
    return 0
