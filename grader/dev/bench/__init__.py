"""`grader bench`: this grader against stock nbgrader on the same submissions."""
