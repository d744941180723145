"""nbgrader's gradebook: opened, prepared for a chapter, and filled with results by nbgrader's own code."""
