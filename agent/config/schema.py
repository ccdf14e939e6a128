"""What agent.yaml may hold: frozen pydantic models with the defaults of the contract.

The models are pure: they look at values, never at the host. Where a value is wrong they raise
ValueError with a sentence for the user; `load.py` adds the place in the file.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_serializer,
    field_validator,
)

from agent.config import durations, names, options_check, places
from agent.config.durations import Between
from agent.config.options_table import OptionValue
from agent.config.problems import Several

GLUSTERD_PORT = 24007
"""The port of glusterd, from which a client fetches its volfile (gluster's own default)."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProbeConfig(_Model):
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


class RecoveryConfig(_Model):
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


class MountConfig(_Model):
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


class HealthConfig(_Model):
    """How the agent reports."""

    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="The least important message that reaches the journal."),
    ] = "info"


class Config(_Model):
    """All of agent.yaml. mounts: in the order of the file, by their names."""

    mounts: Annotated[
        Mapping[Annotated[str, AfterValidator(names.mount_name)], MountConfig],
        Field(
            description="The mounts of this host, by names of yours; {} for none. A name has at"
            " most 64 letters, digits, dots, hyphens and underscores, a letter or digit first."
        ),
    ]
    health: Annotated[HealthConfig, Field(description="How the agent reports.")] = HealthConfig()

    @field_validator("mounts", mode="after")
    @classmethod
    def _frozen(cls, value: Mapping[str, MountConfig]) -> Mapping[str, MountConfig]:
        return MappingProxyType(dict(value))

    @field_serializer("mounts")
    def _plain_mounts(self, value: Mapping[str, MountConfig]) -> dict[str, MountConfig]:
        return dict(value)
