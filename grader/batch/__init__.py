"""Grading a class: many submissions at a time, on this machine or a cluster, with a record that any run can resume."""
