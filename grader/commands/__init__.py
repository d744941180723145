"""The subcommands of `grader`, one a module; none is imported by anything but `cli`."""
