"""The shared directory layout: what is declared, what is to be done about it, and doing it."""
