"""Paths below a mount's path, as layout and environment name them. Each check raises ValueError."""

import posixpath

OWN = ".gluster-ml"
"""The agent's own directory at the root of each volume."""

RESERVED = {
    OWN: "is the agent's own directory",
    **dict.fromkeys((".glusterfs", ".meta", ".shard", ".trashcan"), "is GlusterFS's own directory"),
}
"""Names that are nobody else's, each with the reason."""
_CHANGED_BY_READERS = frozenset("\\\"'`$#")


def directory(value: object) -> str:
    """A directory below the mount's path, normalised: cache/huggingface."""
    if not isinstance(value, str):
        raise ValueError("must be text, e.g. cache/huggingface")
    if not value:
        raise ValueError("is empty; write a path below the mount's, e.g. cache")
    if value.startswith("/"):
        raise ValueError("must be relative to the mount's path, e.g. cache/huggingface")
    if ".." in value.split("/"):
        raise ValueError("must not have .. in it")
    if value == ".":
        raise ValueError("is the volume's root; name a directory below it")
    if value != posixpath.normpath(value):
        raise ValueError("must be normalised: no // or . in it, and no slash at the end")
    for name in value.split("/"):
        _one_name(name)
    if len(value.encode(errors="surrogatepass")) > 1024:
        raise ValueError("is longer than 1024 bytes")
    return value


def with_parents(path: str) -> list[str]:
    """`a/b/c`: `a`, `a/b` and itself."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _one_name(name: str) -> None:
    if name in RESERVED:
        raise ValueError(f"goes through {name}, which {RESERVED[name]}")
    if not name.isprintable() or name != name.strip():
        raise ValueError("has a control character, or a blank at the end of a name")
    if len(name.encode(errors="surrogatepass")) > 255:
        raise ValueError("has a name longer than 255 bytes in it")


def exported(value: object) -> str:
    """A path for an environment variable: a directory as above, or "." for the mount's own path.

    Only characters that a shell, systemd, Docker and Compose all read as they stand: one file is
    for all of them.
    """
    if value == ".":
        return "."
    path = directory(value)
    if _CHANGED_BY_READERS.intersection(path):
        raise ValueError(
            "has a character that not every reader of the environment file takes as it is:"
            " avoid \\ \" ' ` $ #"
        )
    return path
