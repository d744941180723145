"""Chapter 11: what its hidden tests expect, and which wrong value shows which misconception."""
