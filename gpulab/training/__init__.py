"""What is trained in the course: a `Problem`, its pictures, its networks, and lightning-bolts under Lightning 2."""
