"""Hidden tests of shared memory: their references and checkers."""
