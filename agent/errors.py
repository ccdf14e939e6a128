"""The errors a user can meet: what was wrong and where, and what to do about it.

Every error that may reach a terminal or the journal is an AgentError; anything else is a bug and
is reported as one, without a traceback on the user's screen.
"""


class AgentError(Exception):
    """Something a user can act on.

    code: a stable kebab-case word for logs and scripts; message: what was wrong, and where;
    hint: what to do, one sentence or one command, or "".
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class MountFailed(AgentError):
    """A mount, unmount or detach did not do what was asked; the message holds the cause."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("mount-failed", message, hint)


class ChildGone(AgentError):
    """A worker process ended, or talked nonsense, before it answered."""

    def __init__(self, message: str) -> None:
        super().__init__("worker-gone", message)
