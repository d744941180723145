# title: Endless printing
# kind: process
# tries: to fill the grader's memory or disk with output.
# seen: CMS test suite
# gets: bump_test crashed "printed more than"
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
while True:
    print("x" * 10_000)
