"""The command `grader`: one module per subcommand, each importing what it needs only when it runs."""
