"""Fork servers: a process that has imported everything slow once, and forks others on request, in milliseconds."""
