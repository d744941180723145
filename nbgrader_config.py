"""nbgrader's settings for this course: the folders, so that stock nbgrader and formgrader see what `grader` wrote."""

from pathlib import Path

c = get_config()  # noqa: F821 - nbgrader puts it there

root = Path(__file__).resolve().parent
(root / "work").mkdir(exist_ok=True)  # nbgrader makes the gradebook's file, not its folder

c.CourseDirectory.root = str(root)
c.CourseDirectory.course_id = "gpulab"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = "work/submitted"
c.CourseDirectory.autograded_directory = "work/autograded"
c.CourseDirectory.feedback_directory = "work/feedback"
c.CourseDirectory.db_url = f"sqlite:///{root}/work/gradebook.db"

# Formgrader shows notebooks at the address of your own Jupyter server: a script in an output could do all that you can.
c.HTMLExporter.sanitize_html = True
