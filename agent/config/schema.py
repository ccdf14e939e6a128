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
from agent.config.options_table import OptionValue
from agent.config.problems import Several

GLUSTERD_PORT = 24007
"""The port of glusterd, from which a client fetches its volfile (gluster's own default)."""


def _duration(low: float, high: float) -> BeforeValidator:
    def within(value: object) -> float:
        seconds = durations.parse(value)
        if not low <= seconds <= high:
            bounds = f"{durations.text(low)} to {durations.text(high)}"
            raise ValueError(f"is out of range; it may be {bounds}")
        return seconds

    return BeforeValidator(within)


def _hung_after(value: object) -> float | None:
    if value is None or value == "auto":
        return None
    try:
        seconds = durations.parse(value)
    except ValueError as error:
        raise ValueError(f"{error}, or auto") from None
    if not 1 <= seconds <= 86400:
        raise ValueError("is out of range; it may be auto, or 1s to 1d")
    return seconds


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProbeConfig(_Model):
    """How often a mount is tried, and when an answer counts as late. Seconds."""

    interval: Annotated[float, _duration(1, 3600)] = 5.0
    timeout: Annotated[float, _duration(1, 600)] = 10.0


class RecoveryConfig(_Model):
    """What the agent may do to a live client.

    hung_after: seconds, None for auto: 2 x the volume's network.ping-timeout + 30 s.
    """

    hung: Literal["report", "remount"] = "report"
    hung_after: Annotated[float | None, BeforeValidator(_hung_after)] = None
    new_options: Literal["when-idle", "now", "manual"] = "when-idle"


class MountConfig(_Model):
    """One mount. servers: preferred first, IPv6 without brackets, none twice.

    options: in the order of the file, canonical: flags are bool, numbers int or float, what has
    no effect left out (options_check.canonical).
    """

    volume: Annotated[str, BeforeValidator(names.volume)]
    servers: Annotated[tuple[str, ...], BeforeValidator(names.servers)]
    path: Annotated[str, BeforeValidator(places.mount_path)]
    port: Annotated[int, Field(ge=1, le=65535)] = GLUSTERD_PORT
    options: Annotated[Mapping[str, OptionValue], Field(validate_default=True)] = {}
    probe: ProbeConfig = ProbeConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    guard: bool = True

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

    log_level: Literal["debug", "info", "warning", "error"] = "info"


class Config(_Model):
    """All of agent.yaml. mounts: in the order of the file, by their names."""

    mounts: Mapping[Annotated[str, AfterValidator(names.mount_name)], MountConfig]
    health: HealthConfig = HealthConfig()

    @field_validator("mounts", mode="after")
    @classmethod
    def _frozen(cls, value: Mapping[str, MountConfig]) -> Mapping[str, MountConfig]:
        return MappingProxyType(dict(value))

    @field_serializer("mounts")
    def _plain_mounts(self, value: Mapping[str, MountConfig]) -> dict[str, MountConfig]:
        return dict(value)
