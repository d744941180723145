"""Many answers of the course's own against many seeds, and their mutants: quick, since nobody hostile wrote them."""
