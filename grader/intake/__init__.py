"""What comes in: submissions found in folders and downloads, the people of a class, and what happened to each file."""
