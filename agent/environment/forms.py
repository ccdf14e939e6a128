"""The forms of the environment, apart: the command line's grammar needs their names alone."""

from enum import StrEnum


class Form(StrEnum):
    """For whom the text is."""

    SH = "sh"
    SYSTEMD = "systemd"
    DOCKER = "docker"
