"""Grading one submission: the session, the student's process, the judge's process, and what passes between them."""
