#!/usr/bin/python3
"""A signed apt repository of the packages that were built, for any web server or file:.

It is made anew each time, by reprepro, beside the one that is there, and exchanged with it in one
step: whoever reads it meanwhile sees the old one or the new one.

- Of a package, reprepro 5.3 lists one version a release, the newest. The files of older ones stay
  in pool/ as long as build/apt is there: mirrors that are behind find them, and
  `apt-get install ./FILE.deb` goes back to them; `apt-get install PACKAGE=VERSION` can't.
- No Valid-Until: it would ask for a new signature every few weeks, and a copy for hosts without
  internet would run out. A mirror that holds back updates is noticed by the version, not by apt.
- No by-hash: reprepro 5.3 has none. A host that reads InRelease before an exchange and Packages
  after it gets "Hash Sum mismatch" from apt, keeps what it had, and is right the next time.
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import versions
from programs import run
from signingkey import SigningKey, own, throw_away
from versions import RELEASES, REPOSITORY, Problem

NAME = "gluster-ml-agent"
BUILD = REPOSITORY / "build"
_RENAME_EXCHANGE = 2  # linux/fs.h
_AT_FDCWD = -100  # fcntl.h


@dataclass(frozen=True)
class Deb:
    """A package file."""

    path: Path
    version: str
    architecture: str

    def is_older(self, other: "Deb") -> bool:
        """Whether dpkg would upgrade from it to the other."""
        argv = ["dpkg", "--compare-versions", self.version, "lt", other.version]
        return subprocess.run(argv, check=False).returncode == 0


def packages(folder: Path, codename: str) -> list[Deb]:
    """Those of a release in folder/CODENAME. Raises Problem."""
    found = [read(path) for path in sorted((folder / codename).glob("*.deb"))]
    if not found:
        raise Problem(f"{folder / codename}: no package; make deb RELEASE={codename}")
    return found


def read(path: Path) -> Deb:
    """What is in the file. Raises Problem."""
    # One field a line: no field's value has two here.
    form = "--showformat=${Version}\n${Architecture}"
    version, architecture = run(["dpkg-deb", "--show", form, str(path)]).split("\n")
    return Deb(path, version, architecture)


def check_current(debs: list[Deb], codename: str) -> None:
    """They must be of the checkout's version, not something left in build/. Raises Problem."""
    wanted = versions.of_checkout().debian(codename)
    for deb in debs:
        if deb.version != wanted:
            raise Problem(
                f"{deb.path}: is version {deb.version}, the checkout's is {wanted};"
                f" make deb RELEASE={codename}"
            )


def distribution(codename: str, debs: list[Deb], key: SigningKey) -> str:
    """The paragraph of reprepro's conf/distributions."""
    native = run(["dpkg", "--print-architecture"]).strip()
    architectures = {deb.architecture for deb in debs} - {"all"} or {native}
    # Suite is no stable or oldstable: these move, and apt then asks on each host.
    return f"""Origin: {NAME}
Label: {NAME}
Suite: {codename}
Codename: {codename}
Version: {versions.number(codename)}
Architectures: {" ".join(sorted(architectures))}
Components: main
Description: {NAME} for Debian {codename}
SignWith: {key.fingerprint}
"""


def fill(tree: Path, debs: Mapping[str, list[Deb]], key: SigningKey) -> None:
    """Make the repository in an empty folder. Raises Problem."""
    with tempfile.TemporaryDirectory(prefix="reprepro-") as base:
        conf = Path(base, "conf")
        conf.mkdir()
        texts = [distribution(codename, of, key) for codename, of in debs.items()]
        (conf / "distributions").write_text("\n".join(texts))
        reprepro = ["reprepro", "--silent", "--basedir", base, "--outdir", str(tree)]
        for codename, of in debs.items():
            paths = [str(deb.path.resolve()) for deb in of]
            run([*reprepro, "includedeb", codename, *paths], key.environment)
    (tree / f"{NAME}.asc").write_text(key.public())


def keep_older(pool: Path, tree: Path, debs: Mapping[str, list[Deb]]) -> None:
    """Into the tree, unlisted, what the pool has of versions that are older than the new ones."""
    for path in pool.glob("**/*.deb"):
        place = tree / "pool" / path.relative_to(pool)
        old = read(path)
        newer = [deb for of in debs.values() for deb in of if _same_series(deb, old)]
        if not place.exists() and any(old.is_older(deb) for deb in newer):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)


def _same_series(one: Deb, other: Deb) -> bool:
    """Both for the same Debian release: 0.1.0~deb12u1 and 0.2.0~deb12u1."""
    return one.version.rpartition("~")[2] == other.version.rpartition("~")[2]


def publish(out: Path, debs: Mapping[str, list[Deb]], key: SigningKey) -> None:
    """Replace the repository at out, or leave it as it is. Raises Problem, OSError."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{out.name}.", dir=out.parent))
    try:
        draft.chmod(0o755)
        fill(draft, debs, key)
        keep_older(out / "pool", draft, debs)
        if out.exists():
            exchange(draft, out)
        else:
            draft.rename(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def losses(out: Path, debs: Mapping[str, list[Deb]], key: SigningKey) -> list[str]:
    """What hosts that use the repository at out will miss in the new one, one line each."""
    there = {path.name for path in (out / "dists").glob("*")}
    told = [f"{codename} goes: {out} had it" for codename in sorted(there - debs.keys())]
    old_key = out / f"{NAME}.asc"
    if old_key.exists() and old_key.read_text() != key.public():
        told.append(
            f"signed with another key than {out} was: hosts refuse it until they have the new"
            f" {NAME}.asc"
        )
    return told


def exchange(one: Path, other: Path) -> None:
    """Two folders take each other's name in one step: renameat2(2). Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = [os.fsencode(path) for path in (one, other)]
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} (a local disk can exchange)", str(other))


def main(arguments: list[str]) -> int:
    """1 and what is wrong on standard error where it can't be."""
    parser = argparse.ArgumentParser(description="Make a signed apt repository.")
    parser.add_argument("codename", nargs="+", choices=RELEASES)
    parser.add_argument("--key", default="", help="fingerprint of a secret key of yours")
    parser.add_argument("--debs", type=Path, help="packages in DIR/CODENAME, of any version")
    parser.add_argument("--out", type=Path, default=BUILD / "apt")
    asked = parser.parse_args(arguments)
    os.umask(0o022)  # a web server reads it
    try:
        debs = {name: packages(asked.debs or BUILD / "deb", name) for name in asked.codename}
        if asked.debs is None:
            for codename, of in debs.items():
                check_current(of, codename)
        with _key(asked.key) as key:
            for line in losses(asked.out, debs, key):
                print(f"apt-repo: {line}", file=sys.stderr)
            publish(asked.out, debs, key)
    except (Problem, OSError) as error:
        print(f"apt-repo: {error}", file=sys.stderr)
        return 1
    for codename, of in debs.items():
        print(f"{asked.out}: {codename} has {', '.join(deb.path.name for deb in of)}")
    return 0


def _key(fingerprint: str) -> AbstractContextManager[SigningKey]:
    if fingerprint:
        return nullcontext(own(fingerprint, datetime.now(UTC)))
    return throw_away(BUILD / "apt-key")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
