"""What comes in: submissions found in folders and downloads, the people of a class, and what became of each file."""
