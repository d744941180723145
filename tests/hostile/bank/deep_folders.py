# title: Endlessly nested folders
# kind: process
# tries: to break the cleanup: folders 1,500 levels deep, without permissions, and linked to folders of others.
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
