"""The tests, and the lab they stand on."""
