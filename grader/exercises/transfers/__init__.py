"""Hidden tests of transfers: their references and checkers."""
