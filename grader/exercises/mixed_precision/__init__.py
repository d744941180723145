"""Hidden tests of mixed precision: their references and checkers."""
