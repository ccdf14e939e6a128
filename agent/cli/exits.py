"""Exit codes: what each command tells its caller. `--help` and the manual page show these texts."""

from collections.abc import Iterable

from agent.model.verdict import UNKNOWN, Verdict

VALID, INVALID = 0, 1
"""Of `check`."""

USABLE, NOT_USABLE, NO_AGENT = 0, 1, 3
"""Of `wait`."""

AS_MAPPED, DIFFERS, UNASKED = 0, 1, 3
"""Of `ids check`."""

REMAPPED = 0
"""Of `ids remap`."""

DONE = 0
"""Of `trash` and `clean`."""

PLANNED = LISTED = FOUND = PINNED = 0
"""Of `plan`, and of `checkpoints list`, `latest`, `pin` and `unpin`."""

FAILED = 1
"""Of every command that could not do what it is for, but `status`."""

USAGE = 64
INTERNAL = 70
INTERRUPTED = 130
"""Of every command, and none of the 0 to 3 that monitoring reads as a verdict."""


def either(verdicts: Iterable[Verdict]) -> str:
    """Two or more of them, as "dead, hung or full"."""
    *most, last = (verdict.value for verdict in verdicts)
    return f"{', '.join(most)} or {last}"


def _verdicts(code: int) -> str:
    return either(verdict for verdict in Verdict if verdict.exit_code == code)


_OLD = "its status is older than 3 minutes"

COMMANDS: dict[str, dict[int, str]] = {
    "run": {0: "it was told to stop", FAILED: "another agent runs, or it can't use a directory"},
    "check": {VALID: "the file is valid", INVALID: "it is not, or can't be read"},
    "status": {
        0: "every mount is healthy",
        1: f"warning: the worst mount is {_verdicts(1)}; or the configuration was rejected",
        2: f"critical: the worst mount is {_verdicts(2)}",
        UNKNOWN: f"unknown: no agent runs, {_OLD}, or no mount has that name; or a mount has no"
        " verdict yet, and none is critical",
    },
    "wait": {
        USABLE: "a job can use the mount",
        NOT_USABLE: "not in time, or no mount has that name; the verdict stands on stderr",
        NO_AGENT: f"no agent runs, or {_OLD}",
    },
    "pause": {0: "the agent only watches the mount now", FAILED: "it could not be done"},
    "resume": {0: "the agent looks after the mount again", FAILED: "it could not be done"},
    "env": {
        0: "the environment is printed, be it empty",
        FAILED: "no mount has that name, or there is no valid configuration and none was in force",
    },
    "plan": {
        PLANNED: "the plan is printed; what could not be read stands in it as skipped",
        FAILED: "the root can't be read, or no mount of the file has retention",
    },
    "checkpoints list": {
        LISTED: "what is there is printed; what could not be read stands in it as skipped",
        FAILED: "nothing could be looked at",
    },
    "checkpoints latest": {
        FOUND: "the path is printed",
        FAILED: "there is none that is complete, or several runs are there; stderr says which",
    },
    "checkpoints pin": {PINNED: "it is pinned", FAILED: "it could not be done"},
    "checkpoints unpin": {PINNED: "it is not pinned", FAILED: "it could not be done"},
    "clean": {
        DONE: "what may go by now is in the trash, be it nothing",
        FAILED: "something that was to go stays: stderr says why; or it was not confirmed",
    },
    "trash list": {
        DONE: "all that is yours is listed, be it nothing; for root: everything",
        FAILED: "the trash can't be read",
    },
    "trash restore": {
        DONE: "all is back where it came from",
        FAILED: "something is not: stderr says which and why",
    },
    "trash purge": {
        DONE: "the entries are gone",
        FAILED: "some are not: stderr says which and why; or it was not confirmed",
    },
    "ids check": {
        AS_MAPPED: "all users and groups of the file are on this host, as numbered there",
        DIFFERS: "they are not, or the file is not valid",
        UNASKED: "the name service does not answer",
    },
    "ids remap": {
        REMAPPED: "no file has an old id any more; with --dry-run: they are counted",
        FAILED: "some have, or it could not be begun; stderr says which and why",
    },
}
"""By command: what each of its own exit codes means."""

EVERYWHERE = {
    USAGE: "wrong usage",
    INTERNAL: "a bug of the agent: please report it",
    INTERRUPTED: "interrupted from the keyboard",
}
"""What the others mean, with every command."""
