"""The course's figures: their style, plots with spread, and the two shapes of its own, roofline and timeline."""
