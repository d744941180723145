"""Hidden tests of tensor cores: their references and checkers."""
