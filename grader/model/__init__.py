"""What everything else speaks about: courses, notebooks, submissions, results, findings, limits. It runs nothing."""
