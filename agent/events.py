"""The journal's events: one for each thing that an operator may search for or alert on.

A new event is one line here and one entry in systemd/gluster-ml-agent.catalog; a test holds the two
together. Words and message ids are part of the contract: once released they are never changed.
"""

from enum import Enum, IntEnum
from typing import Protocol

from agent.model.verdict import Verdict


class Priority(IntEnum):
    """The syslog priorities that the agent uses (syslog(3))."""

    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6
    DEBUG = 7


class Event(Enum):
    """What happened: the word for GLUSTER_ML_EVENT, the MESSAGE_ID, the priority.

    The ids are random (`systemd-id128 new`), 128 bits in lowercase hex.
    """

    VERDICT = ("verdict", "14b2c5a3c0a9462db89f2c503c9ccff1", Priority.NOTICE)
    RECOVERED = ("recovered", "4bc291c386f243ed9ac516d1ce01972d", Priority.NOTICE)
    MOUNT_ATTEMPT_FAILED = (
        "mount-attempt-failed",
        "dfbb52588d614d11a52f46bf92729c1e",
        Priority.WARNING,
    )
    MOUNTED = ("mounted", "92a8f738bf6f4a7fb6f8ac3362601439", Priority.NOTICE)
    DETACHED = ("detached", "4e5de3acf07d40afa0153ae97a998fbf", Priority.NOTICE)
    ABORTED = ("aborted", "15de2d77abc146298d3bf013d98c0a4c", Priority.WARNING)
    UNMOUNTED = ("unmounted", "72a167f43b944047adf860ab4d892f6a", Priority.NOTICE)
    ACTION_FAILED = ("action-failed", "09f1a61ad25d72f7466e17bfd52d412d", Priority.WARNING)
    HOLDERS = ("holders", "38cf9bb062f64a26b954f8126460eb19", Priority.WARNING)
    HUNG_EVIDENCE = ("hung-evidence", "99baf3593cb14db2a58bb9ca40fcfb45", Priority.WARNING)
    OPTIONS_PENDING = ("options-pending", "8e07d59f202a489ba03f3a5e59315ad0", Priority.NOTICE)
    REMOVAL_PENDING = ("removal-pending", "9ca27e8a31c5f6c10abc3dbe85a2cbfd", Priority.NOTICE)
    OPTIONS_APPLIED = ("options-applied", "752bacc1a569493e8321bfcb76faf9c0", Priority.NOTICE)
    ADOPTED = ("adopted", "99d5ccfe17384c80b8d1f2a8b8657338", Priority.NOTICE)
    FORGOTTEN = ("forgotten", "c26949b76dea86a8032ac68c59450abd", Priority.NOTICE)
    GUARD = ("guard", "6751af7b95404b9daa58e25dbd002132", Priority.WARNING)
    GUARD_CHANGED = ("guard-changed", "70a166911a0a488289f585a034721c02", Priority.NOTICE)
    FINDING = ("finding", "4c28b11e07944bd9932a5224bec8bae6", Priority.WARNING)
    CONFIG_ACCEPTED = ("config-accepted", "5314a720ea46430d8aa0f062f1acd159", Priority.NOTICE)
    CONFIG_REJECTED = ("config-rejected", "35632ef47e0a45bba2769ac3b35a1719", Priority.ERROR)
    CONFIG_LAST_GOOD = ("config-last-good", "e3be183bab2048d6937ac4fe169bfd6b", Priority.ERROR)
    CONFIG_WARNING = ("config-warning", "172047f6c2194a5fb10a37662639462d", Priority.WARNING)
    LAYOUT_MADE = ("layout-made", "a15e1140eae0b95bbee6c1d4cff5b54a", Priority.NOTICE)
    LAYOUT_MENDED = ("layout-mended", "9180dc456df662d42b4109764f1c61d7", Priority.NOTICE)
    LAYOUT_FINDING = ("layout-finding", "c042947efa6c70fc09a6752e6ad7bd70", Priority.WARNING)
    STARTED = ("started", "0d35b899fedd40409407f5190f4dc2fa", Priority.NOTICE)
    STOPPING = ("stopping", "1ea6f2fa122b44f8a02380e6b518f36a", Priority.NOTICE)
    PAUSED = ("paused", "2f03e0ae7e9542948ea869a6fc0dbddb", Priority.NOTICE)
    RESUMED = ("resumed", "8b33b155c6c641638843f78b77587222", Priority.NOTICE)
    WORKER_ABANDONED = ("worker-abandoned", "bb811e3994c3474d9b7b4d705fbb4fc0", Priority.WARNING)
    IDENTITY_CREATED = ("identity-created", "226ed46cc30a442786660ba08c6d3410", Priority.NOTICE)
    IDENTITY_MISSING = ("identity-missing", "da6c1c83f2e1484ebacdc9523a4f0734", Priority.WARNING)
    IDENTITY_CONFLICT = ("identity-conflict", "19274b2419bf4ff3a4f925d582ad9c45", Priority.WARNING)
    IDENTITY_FAILED = ("identity-failed", "3bc75e2b3d594827b080ba19f5ffba81", Priority.WARNING)
    IDENTITY_UNKNOWN = ("identity-unknown", "65c40ee7e11e415c951eb4ea75ffa828", Priority.WARNING)
    IDENTITIES_SETTLED = ("identities-settled", "617a765c4f974e8c8e44c3ae349e40aa", Priority.NOTICE)
    REMAP_DONE = ("remap-done", "dd6c7b30f73040e3b65f8f336d9da8d3", Priority.NOTICE)
    REMAP_LEFT = ("remap-left", "d886c5c45bc8402bb0ff10c568c51361", Priority.WARNING)
    REMAP_FAILED = ("remap-failed", "809da4ea724347ae8a800dd0166b3f52", Priority.WARNING)
    RETENTION_PLANNED = ("retention-planned", "0bad2bbd56da481e9637c79be342cfa8", Priority.NOTICE)
    RETENTION_MOVED = ("retention-moved", "64330420bbd44be5bd444a5a8febeedb", Priority.NOTICE)
    RETENTION_PURGED = ("retention-purged", "b6630dc6456143129a0fa129af8d9101", Priority.NOTICE)
    RETENTION_LEFT = ("retention-left", "28c4e16c8daf446eb51d859fcf02444b", Priority.WARNING)
    RETENTION_FAILED = ("retention-failed", "e1ee40752ab04dbda4a847a5b45f4747", Priority.WARNING)
    INTERNAL_ERROR = ("internal-error", "1c65f6cc41634f42959b0b3c3e870041", Priority.ERROR)

    def __init__(self, word: str, message_id: str, priority: Priority) -> None:
        self.word = word
        self.message_id = message_id
        self.priority = priority


def priority_of(event: Event, verdict: Verdict | None) -> Priority:
    """A change of verdict is as loud as the new verdict is bad; all else as the event says."""
    if event is not Event.VERDICT or verdict is None:
        return event.priority
    return (Priority.NOTICE, Priority.WARNING, Priority.ERROR)[verdict.exit_code]


class Emitter(Protocol):
    """Who takes journal entries."""

    def emit(
        self,
        event: Event,
        message: str,
        *,
        mount: str | None = None,
        verdict: Verdict | None = None,
        error: BaseException | None = None,
        **fields: object,
    ) -> None:
        """One entry. mount: whose it is; fields: more of the native ones, GLUSTER_ML_<NAME>.

        error: its traceback goes into a field of its own, never into the message.
        """
