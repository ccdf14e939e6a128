"""The command line's grammar and its help: `--help`, the manual page and the completion show it."""

import argparse
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from agent import __version__
from agent.cli import exits
from agent.config import durations
from agent.environment.forms import Form
from agent.health.text import clean
from agent.model.verdict import Verdict

PROGRAM = "gluster-ml-agent"
DEFAULT_CONFIG = Path("/etc/gluster-ml/agent.yaml")

_TOP = "Keeps the GlusterFS mounts of this host alive, and says how they are."
_BEGIN = f"""\
New here? Put the name of a volume, its servers and a path into
{DEFAULT_CONFIG}; the agent applies it when it is saved.
Then: {PROGRAM} status

More: {PROGRAM} COMMAND --help, man {PROGRAM}, man {DEFAULT_CONFIG.name}"""

_RUN = f"""\
Be the agent: mount what the file names, watch, repair and report, until told
to stop by SIGTERM. SIGHUP makes it read the file at once.

systemd calls this; by hand it is: systemctl start {PROGRAM}"""

_CHECK = """\
Look for mistakes in a configuration file, and apply nothing. Each problem is
one line, with its line and column and what to do.

The rules for this host count too (its directories, what is mounted there), so
run it where the file is to be used."""

_STATUS = """\
Say how the mounts are: what is wrong, since when, the evidence, what to do.

It reads one small file of the agent's and never touches a mount, so it answers
at once, however hung a mount is, and needs no root. Made for people, and for
Nagios, NHC and Slurm's HealthCheckProgram."""

_WAIT = f"""\
Return as soon as a job can use a mount, that is, once its verdict is
{exits.either(v for v in reversed(Verdict) if v.usable)}.

For a job's prolog, or for ExecStartPre= of a unit. On a terminal it says
what it waits for, once that takes more than a second."""

_PAUSE = f"""\
For maintenance: the agent goes on watching a mount, but does not mount, repair
or unmount it until {PROGRAM} resume, also after a restart of the host.

Returns once the agent has taken it up. For root."""

_RESUME = """\
End a pause: the agent looks after the mount again, and repairs at once what is
wrong with it. For root."""

_ENV = f"""\
Print the variables that the configuration gives to jobs, with paths on the
mounts: for a shell (eval "$({PROGRAM} env)"), for EnvironmentFile= of a unit,
or for --env-file of Docker and Podman.

Login shells have them already. It needs neither root nor the agent, and touches
no mount. While the file is invalid, what was in force before is printed."""

_PLAN = """\
Say which checkpoints retention would keep and delete by the rules of the file,
each with its reasons. It only reads, and needs no root and no agent.

With --root the rules are tried on any directory in the place of the mount: a
copy, another mount, one not mounted by the agent. free_space is left out then."""

_CHECKPOINTS = """\
The checkpoints below the directories of the rules, or anywhere. None of these
commands deletes anything."""

_LIST = """\
Say which checkpoints there are, and why each stays, or that it would go. Below
PATH, also where no rule is about it; by default all that the rules are about.

It only reads, and needs no root and no agent."""

_LATEST = """\
Print the path of the newest complete checkpoint of a run, to resume from:
  --resume_from_checkpoint "$(gluster-ml-agent checkpoints latest RUN)"

RUN is the directory of the checkpoints; where several runs share one, with the
name of one of them after it. What is incomplete, empty, torn or shorter than
its own header says is passed over; stderr says so."""

_PIN = """\
Keep a checkpoint from being cleaned away, whatever the rules say, or all of a
run: it makes a file .keep in it, or NAME.keep beside a checkpoint that is a
file. It acts as you: you may pin what you may write to."""

_UNPIN = """\
Take the pin of a checkpoint or run away: the file .keep or NAME.keep. The rules
decide then. It acts as you."""

_IDS = """\
The users and groups of the file (identities) on this host, and their files on
the volumes."""

_IDS_CHECK = """\
Say how this host's users and groups differ from those of the file: who lacks,
which name or number is another's here, who is in too many groups.

It asks the name service (LDAP and SSSD too) and waits at most 15 seconds. It
changes nothing, and needs no agent and no root."""

_IDS_REMAP = """\
Give the files below a directory that belong to an old number to the new one:
their owner, their group, and the entries of their ACLs. Links are not followed,
and nothing but the file system of the directory is entered.

It can be interrupted and begun again: what is done is found done. A number that
this host still knows as somebody's is left. For root; --dry-run changes nothing."""

_CLEAN = f"""\
Move to the trash what the rules of a mount let go, as the agent does it by
itself under mode: enforce. For root. It asks first, unless --yes is given.

Nothing goes that an earlier look, at least quiet_for before, did not find as it
is: the first call only looks, a later one moves. What would go: {PROGRAM} plan"""

_TRASH = """\
What retention has taken away lies in the trash of its volume, until the time in
the file (retention.trash.keep_for) has passed."""

_TRASH_LIST = """\
Say what is in the trash of a volume: what it is, where it came from, and why it
is there. Root sees all of it, others see what is theirs."""

_TRASH_RESTORE = f"""\
Put checkpoints back where they came from, as they were, and pin them: or the
rules would take them again. Nothing is ever replaced.

It needs no root: whoever owns a checkpoint, and may write to the directory it
came from, can restore it. What is there: {PROGRAM} trash list"""

_TRASH_PURGE = """\
Remove entries of the trash for good: those whose time is over, or the named ones
and --all without waiting for it; and what an interrupted purge left. For root.

It can be interrupted and begun again. It asks first, unless --yes is given."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, **changes: Any) -> None:
        # Descriptions and epilogs are shown as they are written here.
        changes["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(add_help=False, **changes)
        self.add_argument("-h", "--help", action="help", help="print this and exit")

    def error(self, message: str) -> NoReturn:
        self.exit(exits.USAGE, f"{self.prog}: {message}; try: {self.prog} --help\n")


_Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001  it has no other name
"""What add_subparsers() returns."""


def parser() -> argparse.ArgumentParser:
    """The whole grammar. The completion goes by the metavars MOUNT and FILE."""
    top = _Parser(prog=PROGRAM, description=_TOP, epilog=_BEGIN)
    top.add_argument(
        "--version",
        action="version",
        version=f"%(prog)s {__version__}",
        help="print the version and exit",
    )
    _add_config(top, DEFAULT_CONFIG)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, module: str, help_: str, text: str) -> _Parser:
        return _add_command(commands, name, module, help_, text)

    command("run", "run", f"be the agent; systemd does it: {PROGRAM}.service", _RUN)
    check = command("check", "check", "look for mistakes in a configuration file", _CHECK)
    check.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="default: the one of --config"
    )
    status = command("status", "status", "what is wrong, since when, what to do", _STATUS)
    status.add_argument("mount", metavar="MOUNT", nargs="?", help="this one only; default: all")
    status.add_argument("--json", action="store_true", help="for programs: what status.json holds")
    wait = command("wait", "wait", "wait until a mount is usable, before a job starts", _WAIT)
    _add_mount(wait)
    wait.add_argument(
        "--timeout",
        metavar="DURATION",
        type=_duration,
        help="e.g. 90s or 15m; default: as long as an agent runs that knows the mount",
    )
    _add_mount(command("pause", "pause", "for maintenance: only watch a mount", _PAUSE))
    _add_mount(command("resume", "pause", "end a pause", _RESUME))
    env = command("env", "env", "print the environment for jobs", _ENV)
    env.add_argument(
        "--format",
        metavar="FORMAT",
        choices=[form.value for form in Form],
        default=Form.SH.value,
        help=f"{', '.join(Form)}; default: {Form.SH}",
    )
    env.add_argument("--mount", metavar="MOUNT", help="of this one only; default: of all")
    plan = command("plan", "plan", "what retention would keep and delete, and why", _PLAN)
    _add_choice(plan)
    plan.add_argument(
        "--root", metavar="DIR", help="try the rules on this directory in the place of the mount"
    )
    plan.add_argument("--json", action="store_true", help="for programs")
    _add_checkpoints(commands)
    clean = command("clean", "clean", "move to the trash what may go now", _CLEAN)
    clean.add_argument("--rule", metavar="PATH", help="by this rule only; default: by all")
    clean.add_argument("--yes", action="store_true", help="don't ask")
    _add_choice(clean)
    _add_trash(commands)
    _add_ids(commands)
    return top


def _add_checkpoints(commands: _Commands) -> None:
    group = commands.add_parser(
        "checkpoints", help="which there are, the newest, pins", description=_CHECKPOINTS
    )
    _add_config(group, argparse.SUPPRESS)
    below = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, module: str, help_: str, text: str) -> _Parser:
        return _add_command(below, f"checkpoints {name}", f"checkpoints_{module}", help_, text)

    list_ = command("list", "list", "what is there, and why it stays", _LIST)
    list_.add_argument("path", metavar="PATH", nargs="?", help="default: all rules' directories")
    _add_choice(list_)
    list_.add_argument("--json", action="store_true", help="for programs")
    latest = command(
        "latest", "latest", "the newest complete one of a run, to resume from", _LATEST
    )
    latest.add_argument("run", metavar="RUN", help="the directory of its checkpoints")
    for name, help_, text in (
        ("pin", "keep one from being cleaned away", _PIN),
        ("unpin", "take its pin away", _UNPIN),
    ):
        pin = command(name, "pin", help_, text)
        pin.add_argument("checkpoint", metavar="CKPT", help="its path, or that of a run")


def _add_ids(commands: _Commands) -> None:
    ids = commands.add_parser("ids", help="users and groups of the cluster", description=_IDS)
    _add_config(ids, argparse.SUPPRESS)
    below = ids.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_command(below, "ids check", "ids_check", "how this host differs from the file", _IDS_CHECK)
    remap = _add_command(
        below, "ids remap", "ids_remap", "give files of an old number to the new one", _IDS_REMAP
    )
    remap.add_argument(
        "--from",
        dest="old",
        metavar="IDS",
        required=True,
        help="old numbers: 1001 of a user, :1001 of a group, 1001:1001 of each",
    )
    remap.add_argument(
        "--to",
        dest="new",
        metavar="IDS",
        required=True,
        help="new ones likewise, names of the file or numbers: alice, :ml, alice:ml",
    )
    remap.add_argument("--dry-run", action="store_true", help="only count")
    remap.add_argument("path", metavar="PATH", help="a directory, without links on the way to it")


def _add_trash(commands: _Commands) -> None:
    trash = commands.add_parser("trash", help="what retention took away", description=_TRASH)
    _add_config(trash, argparse.SUPPRESS)
    below = trash.add_subparsers(title="commands", metavar="COMMAND", required=True)
    list_ = _add_command(below, "trash list", "trash", "what is in it, and why", _TRASH_LIST)
    list_.add_argument("--json", action="store_true", help="for programs")
    restore = _add_command(
        below, "trash restore", "trash", "put checkpoints back, and pin them", _TRASH_RESTORE
    )
    purge = _add_command(below, "trash purge", "trash", "remove entries for good", _TRASH_PURGE)
    restore.add_argument(
        "entries", metavar="ENTRY", nargs="+", help="its id, or the path that it came from"
    )
    which = purge.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="everything")
    which.add_argument(
        "entries", metavar="ENTRY", nargs="*", default=[], help="as with trash restore"
    )
    purge.add_argument("--yes", action="store_true", help="don't ask")
    for command in (list_, restore, purge):
        _add_choice(command)


def _add_command(to: _Commands, name: str, module: str, help_: str, text: str) -> _Parser:
    """name: as typed, with the words before it; module: below agent.cli."""
    added = to.add_parser(
        name.rpartition(" ")[2],
        help=help_,
        description=text,
        epilog=_exit_status(exits.COMMANDS[name]),
    )
    added.set_defaults(module=module, command=name)
    _add_config(added, argparse.SUPPRESS)
    return added


def _exit_status(codes: Mapping[int, str]) -> str:
    lines = [
        textwrap.fill(text, 79, initial_indent=f"  {code:<4}", subsequent_indent=" " * 6)
        for code, text in codes.items()
    ]
    return "\n".join(["exit status:", *lines])


def _duration(text: str) -> float:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{clean(text, 40)} {error}") from error


def _add_config(to: argparse.ArgumentParser, default: Path | str) -> None:
    to.add_argument(
        "--config", metavar="FILE", type=Path, default=default, help=f"default: {DEFAULT_CONFIG}"
    )


def _add_choice(to: argparse.ArgumentParser) -> None:
    to.add_argument("--mount", metavar="MOUNT", help="needed where several have retention")


def _add_mount(to: argparse.ArgumentParser) -> None:
    to.add_argument("mount", metavar="MOUNT", help="its name in the configuration")
