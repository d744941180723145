"""What people read: the class table, CSV, the HTML report, feedback pages, and files for Moodle and Canvas."""
