"""The harness: builds, releases, verifies and grades the course."""

__version__ = "0.1.0"
