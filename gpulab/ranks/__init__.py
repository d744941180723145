"""Scripts and functions run as several ranks: one process each, with a time limit, and none left afterwards."""
