"""The key that signs the apt repository: the caller's own, or one for tests."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from programs import run
from versions import Problem

_THROW_AWAY = "gluster-ml-agent throw-away key, for tests only"


@dataclass(frozen=True)
class SigningKey:
    """A secret key that gpg can use."""

    fingerprint: str
    environment: Mapping[str, str]  # in which gpg finds it

    def public(self) -> str:
        """The public key, armored: what Signed-By takes. Raises Problem."""
        export = ["--armor", "--export-options", "export-minimal", "--export", self.fingerprint]
        return _gpg(export, self.environment)


def own(fingerprint: str, now: datetime) -> SigningKey:
    """The caller's key, in the keyring that gpg uses for them. Raises Problem."""
    wanted = fingerprint.replace(" ", "").upper()
    if not re.fullmatch("[0-9A-F]{40}", wanted):
        raise Problem(
            f"KEY={fingerprint}: not a fingerprint (40 hex digits): gpg --list-secret-keys"
        )
    environment = dict(os.environ)
    try:
        listing = _gpg(["--with-colons", "--list-secret-keys", wanted], environment)
    except Problem as error:
        home = environment.get("GNUPGHOME", "~/.gnupg")
        raise Problem(f"KEY={wanted}: no such secret key in {home}: {error}") from error
    _check_usable(listing, wanted, now)
    return SigningKey(wanted, environment)


def _check_usable(listing: str, fingerprint: str, now: datetime) -> None:
    """Gpg's own doc/DETAILS says what the columns are."""
    (secret, *_) = (line.split(":") for line in listing.splitlines() if line.startswith("sec:"))
    validity, expires = secret[1], secret[6]
    if validity in {"d", "e", "r"}:
        raise Problem(f"KEY={fingerprint}: is expired, revoked or disabled; apt would refuse it")
    if expires:
        day = datetime.fromtimestamp(int(expires), UTC)
        left = (day - now).days
        print(
            f"The key expires on {day:%Y-%m-%d}, in {left} days; from then on apt refuses the"
            " repository. Extended, it has to reach the hosts anew.",
            file=sys.stderr,
        )


@contextmanager
def throw_away(kept: Path) -> Iterator[SigningKey]:
    """A key made once and kept in that file: Ed25519, without passphrase or expiry.

    gpg has it in a home of its own, for the time of this block: in /tmp, since its agent's socket
    takes no path above 107 bytes. Raises Problem.
    """
    home = tempfile.mkdtemp(prefix="apt-key-")
    environment = {**os.environ, "GNUPGHOME": home}
    try:
        if kept.exists():
            _gpg(["--import", str(kept)], environment)
        else:
            made = ["--passphrase", "", "--quick-generate-key", _THROW_AWAY, "ed25519", "sign"]
            _gpg([*made, "never"], environment)
            _keep(kept, _gpg(["--armor", "--export-secret-keys"], environment))
        listing = _gpg(["--with-colons", "--list-secret-keys"], environment)
        fingerprint = re.findall(r"^fpr:+([0-9A-F]+):$", listing, re.MULTILINE)[0]
        print(
            f"*** Signed with a throw-away key, {kept}: for tests only.\n"
            "*** Whoever has this folder can sign with it, and `make clean` loses it.\n"
            "*** For hosts: make apt-repo KEY=FINGERPRINT, of a key of your own.",
            file=sys.stderr,
        )
        yield SigningKey(fingerprint, environment)
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)
        shutil.rmtree(home, ignore_errors=True)


def _keep(place: Path, text: str) -> None:
    """Whole or not at all, and for nobody else to read."""
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f"{place.name}.", dir=place.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    Path(draft).rename(place)


def _gpg(arguments: list[str], environment: Mapping[str, str]) -> str:
    return run(["gpg", "--batch", "--quiet", "--no-tty", *arguments], environment)
