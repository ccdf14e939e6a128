"""What all tests share."""

pytest_plugins = ["tests.lab.fixtures"]
