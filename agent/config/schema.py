"""What agent.yaml may hold: frozen pydantic models with the defaults of the contract.

The models are pure: they look at values, never at the host. Where a value is wrong they raise
ValueError with a sentence for the user; `load.py` adds the place in the file.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_serializer,
    field_validator,
)

from agent.config import durations, names, options_check, places
from agent.config.durations import Between
from agent.config.environment_schema import InnerPath, Variable
from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import LayoutConfig
from agent.config.options_table import OptionValue
from agent.config.problems import Place, Several
from agent.config.retention_schema import RetentionConfig
from agent.config.strict import FREEZE, KEY, THAW, Strict

GLUSTERD_PORT = 24007
"""The port of glusterd, from which a client fetches its volfile (gluster's own default)."""


class ProbeConfig(Strict):
    """How often a mount is tried, and when an answer counts as late. Seconds."""

    interval: Annotated[
        float,
        BeforeValidator(Between(1, 3600)),
        Field(description="How often the mount is tried."),
    ] = 5.0
    timeout: Annotated[
        float,
        BeforeValidator(Between(1, 600)),
        Field(description="A later answer makes the mount slow."),
    ] = 10.0


class RecoveryConfig(Strict):
    """What the agent may do to a live client. hung_after: seconds, None for auto."""

    hung: Annotated[
        Literal["report", "remount"],
        Field(
            description="What to do with a client that does not answer. It may still come back, and"
            " a remount ends the I/O of every process on the mount."
        ),
    ] = "report"
    hung_after: Annotated[
        float | None,
        BeforeValidator(Between(1, 86400, or_word="auto")),
        Field(
            description="When a late mount counts as hung; longer than probe.timeout. auto is twice"
            " the volume's network.ping-timeout and 30s."
        ),
    ] = None
    new_options: Annotated[
        Literal["when-idle", "now", "manual"],
        Field(
            description="When changed options are applied: once no process uses the mount, at once"
            " (under live processes), or only by you."
        ),
    ] = "when-idle"


class MountConfig(Strict):
    """One mount. servers: preferred first, IPv6 without brackets, none twice.

    options: in the order of the file, canonical: flags are bool, numbers int or float, what has
    no effect left out (options_check.canonical).
    """

    volume: Annotated[
        str,
        BeforeValidator(names.volume),
        Field(description="The Gluster volume, or volume/sub/dir for a directory of it."),
    ]
    servers: Annotated[
        tuple[str, ...],
        BeforeValidator(names.servers),
        Field(
            description="Volfile servers, preferred first: names, IPv4 or IPv6 addresses, without"
            " a port. One that answers is chosen each time the volume is mounted."
        ),
    ]
    path: Annotated[
        str,
        BeforeValidator(places.mount_path),
        Field(description="Where to mount: absolute; made if it is not there."),
    ]
    port: Annotated[
        int, Field(ge=1, le=65535, description="The port of glusterd on all servers.")
    ] = GLUSTERD_PORT
    options: Annotated[
        Mapping[str, OptionValue],
        Field(
            validate_default=True,
            description="Options of mount.glusterfs(8), by their own names: see below.",
        ),
    ] = {}
    probe: Annotated[ProbeConfig, Field(description="How the mount is watched.")] = ProbeConfig()
    recovery: Annotated[
        RecoveryConfig, Field(description="What the agent may do to a live client.")
    ] = RecoveryConfig()
    guard: Annotated[
        bool,
        Field(
            description="The bare directory under the mount accepts no writes, so that jobs fail"
            " rather than fill the local disk while nothing is mounted."
        ),
    ] = True
    layout: Annotated[
        LayoutConfig | None,
        Field(description="Directories of the volume that the agent makes and keeps."),
    ] = None
    environment: Annotated[
        Mapping[Variable, InnerPath],
        FREEZE,
        THAW,
        Field(
            validate_default=True,
            description="Variables for jobs: names in capitals, and paths below the mount's.",
        ),
    ] = {}

    retention: Annotated[
        RetentionConfig | None,
        Field(description="Which checkpoints are kept, and which are cleaned away."),
    ] = None

    @field_validator("options", mode="plain")
    @classmethod
    def _known_options(cls, value: Any, info: ValidationInfo) -> Mapping[str, OptionValue]:
        volume = str(info.data.get("volume", "VOLUME")).partition("/")[0]
        return MappingProxyType(options_check.canonical(value, volume))

    @field_serializer("options")
    def _plain_options(self, value: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        return dict(value)

    @field_validator("recovery", mode="after")
    @classmethod
    def _hung_is_later_than_slow(
        cls, value: RecoveryConfig, info: ValidationInfo
    ) -> RecoveryConfig:
        probe = info.data.get("probe")
        if probe and value.hung_after is not None and value.hung_after <= probe.timeout:
            limit = durations.text(probe.timeout)
            raise Several([(("hung_after",), f"must be longer than probe.timeout ({limit})")])
        return value

    @field_validator("layout", mode="after")
    @classmethod
    def _layout_is_possible(
        cls, value: LayoutConfig | None, info: ValidationInfo
    ) -> LayoutConfig | None:
        options = info.data.get("options")
        if value is None or options is None:
            return value
        found: list[tuple[Place, str]] = _only_reading(options)
        if "acl" not in options:
            given = {("defaults", "acl"): value.defaults.acl} | {
                ("directories", path, "acl"): directory.acl
                for path, directory in value.directories.items()
            }
            why = "needs the mount option acl; add acl: true to options"
            found += [(place, why) for place, entries in given.items() if entries]
        if found:
            raise Several(found)
        return value

    @field_validator("retention", mode="after")
    @classmethod
    def _retention_is_possible(
        cls, value: RetentionConfig | None, info: ValidationInfo
    ) -> RetentionConfig | None:
        found = _only_reading(info.data.get("options") or {})
        if value is not None and found:
            raise Several(found)
        return value

    @property
    def volume_name(self) -> str:
        """The Gluster volume, without the sub-directory."""
        return self.volume.partition("/")[0]

    @property
    def subdir(self) -> str:
        """The directory of the volume that is mounted, "" for all of it: "sub/dir"."""
        return self.volume.partition("/")[2]

    @property
    def read_only(self) -> bool:
        """Mounted with `ro`, or with `worm`, where nothing can be removed: no write probe."""
        return "ro" in self.options or "worm" in self.options


def _only_reading(options: Mapping[str, OptionValue]) -> list[tuple[Place, str]]:
    """Why what writes is not possible with these options."""
    given = [option for option in ("ro", "worm") if option in options]
    return [((KEY,), f"is not possible with the mount option {o}; remove one") for o in given[:1]]


class HealthConfig(Strict):
    """How the agent reports."""

    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="The least important message that reaches the journal."),
    ] = "info"


class Config(Strict):
    """All of agent.yaml. mounts: in the order of the file, by their names."""

    mounts: Annotated[
        Mapping[Annotated[str, AfterValidator(names.mount_name)], MountConfig],
        FREEZE,
        THAW,
        Field(
            description="The mounts of this host, by names of yours; {} for none. A name has at"
            " most 64 letters, digits, dots, hyphens and underscores, a letter or digit first."
        ),
    ]
    identities: Annotated[IdentitiesConfig, Field(description="Who is who on every host.")] = (
        IdentitiesConfig()
    )
    health: Annotated[HealthConfig, Field(description="How the agent reports.")] = HealthConfig()
