"""Package repositories on a web server: of the package under test, of later ones, and bad ones."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import run, until
from tests.lab.subject import REPOSITORY
from tests.package.apt import NAME, SOURCES, add_source
from tests.package.deb import successor
from tests.system.agents import CONFIG

GOOD = "good"
SAME_CONFFILE = "9.0.0"
"""Versions above that of the package under test, each in a repository of that name."""
OTHER_CONFFILE = "9.1.0"
BAD = {
    "unsigned": "is not signed",
    "another-key": "NO_PUBKEY|Missing key",
    "altered-index": "Hash Sum mismatch",
    "altered-package": "Hash Sum mismatch",
}
"""Repositories that are not what their owner signed, and what apt says of each (a pattern)."""
TOOL = REPOSITORY / "packaging/deb/aptrepo.py"


class Shop:
    """Each repository is a folder of the web server, which the first storage server runs."""

    def __init__(self, cluster: Cluster, package: Path) -> None:
        self._server = cluster.servers[0]
        self._release = cluster.release
        self._package = package
        self._www = cluster.run.folder / "www"
        self._work = cluster.run.folder / "packages"
        self._home = cluster.run.folder / "gnupg"
        """Of a stranger, who has a key too."""

    def __enter__(self) -> Self:
        for folder in (self._www, self._work):
            folder.mkdir()
        argv = ["/usr/bin/python3", "-m", "http.server", "--bind", "::", "--directory"]
        self._process = self._server.popen([*argv, str(self._www), "80"])
        listening = ["ss", "--listening", "--tcp", "--numeric", "sport = :80"]
        until(lambda: ":80" in self._server.run(listening).stdout, 30, "the web server listens")
        self._publish(GOOD, self._package)
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        if self._home.exists():
            run(["gpgconf", f"--homedir={self._home}", "--kill", "all"])

    def known_to(self, host: Host, name: str = GOOD, folder: str = SOURCES) -> None:
        """Add that repository to what the host's apt knows. folder: of sources."""
        if not (self._www / name).exists():
            self._make(name)
        add_source(host, name, f"http://{self._server.name}/{name}", self._key(), folder)

    def copied_to(self, host: Host, place: str, folder: str) -> None:
        """Copy the good one to the host, and add that copy. folder: of sources."""
        shutil.copytree(self._www / GOOD, host.path(place))
        add_source(host, "copy", f"file:{place}", self._key(), folder)

    def _key(self) -> str:
        """The owner's, as the hosts' administrators have it."""
        return (self._www / GOOD / f"{NAME}.asc").read_text()

    def forgotten_by(self, host: Host, name: str) -> None:
        """Take that repository away from there."""
        host.run(["rm", f"{SOURCES}/{name}.sources"])

    def _make(self, name: str) -> None:
        match name:
            case "unsigned":
                self._spoil(name, "dists/*/InRelease", Path.unlink)
                self._spoil(name, "dists/*/Release.gpg", Path.unlink)
            case "another-key":
                self._publish(name, self._package, *self._strangers_key())
            case "altered-index":
                self._spoil(name, "dists/*/main/binary-*/Packages*", _alter)
            case "altered-package":
                self._spoil(name, "pool/**/*.deb", _alter)
            case _:
                change = _longer_conffile if name == OTHER_CONFFILE else _nothing
                self._publish(name, successor(self._package, name, self._work, change))

    def _publish(self, name: str, package: Path, home: str = "", fingerprint: str = "") -> None:
        """By the tool that makes the real one; with its throw-away key, or one of that home."""
        packages = self._work / name / self._release
        packages.mkdir(parents=True)
        shutil.copy(package, packages)
        what = [f"--debs={packages.parent}", f"--out={self._www / name}", f"--key={fingerprint}"]
        around = ["env", *([f"GNUPGHOME={home}"] if home else [])]
        run([*around, "/usr/bin/python3", str(TOOL), *what, self._release], timeout=120)

    def _strangers_key(self) -> tuple[str, str]:
        """Where it is, and its fingerprint."""
        self._home.mkdir(mode=0o700)
        gpg = ["gpg", f"--homedir={self._home}", "--batch", "--quiet", "--passphrase="]
        run([*gpg, "--quick-generate-key", "stranger", "ed25519", "sign", "never"])
        listed = run([*gpg, "--with-colons", "--list-keys"]).stdout.splitlines()
        (fingerprint,) = [line.split(":")[9] for line in listed if line.startswith("fpr:")]
        return str(self._home), fingerprint

    def _spoil(self, name: str, files: str, how: Callable[[Path], None]) -> None:
        """Make a copy of the good repository, and do that to some files of it."""
        folder = self._www / name
        if not folder.exists():
            shutil.copytree(self._www / GOOD, folder)
        spoilt = list(folder.glob(files))
        assert spoilt, f"{folder}: no {files}"
        for path in spoilt:
            how(path)


def _nothing(tree: Path) -> None:
    pass


def _longer_conffile(tree: Path) -> None:
    with (tree / CONFIG.lstrip("/")).open("a") as file:
        file.write("\n# Of a later version.\n")


def _alter(path: Path) -> None:
    """One bit in the middle; the size stays."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
