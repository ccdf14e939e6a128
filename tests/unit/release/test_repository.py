"""The apt repository, asked by a real apt that has a root of its own."""

import gzip
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import aptrepo
import pytest
import signingkey
from versions import REPOSITORY, Problem

from tests.lab.shell import Done, LabError, run, until

NATIVE = run(["dpkg", "--print-architecture"]).stdout.strip()


def deb(folder: Path, version: str, text: str = "one") -> Path:
    """A tiny package that stands for the real one."""
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "note").write_text(text)
    (tree / "DEBIAN/control").write_text(
        f"Package: gluster-ml-agent\nVersion: {version}\nArchitecture: {NATIVE}\nSection: admin\n"
        "Priority: optional\nMaintainer: Some One <someone@example.org>\nDescription: a stand-in\n"
    )
    path = folder / f"gluster-ml-agent_{version}_{NATIVE}.deb"
    run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(path)])
    shutil.rmtree(tree)
    return path


class Shelf:
    """Packages of both releases, and the repository that is made of them."""

    def __init__(self, folder: Path) -> None:
        self.debs = folder / "deb"
        self.out = folder / "apt"
        self.pool = self.out / "pool/main/g/gluster-ml-agent"

    def clear(self) -> None:
        """As the next build does."""
        shutil.rmtree(self.debs, ignore_errors=True)

    def add(self, version: str, text: str = "one") -> None:
        for codename, number in (("bookworm", 12), ("trixie", 13)):
            (self.debs / codename).mkdir(parents=True, exist_ok=True)
            deb(self.debs / codename, f"{version}~deb{number}u1", text)

    def publish(self, key: signingkey.SigningKey, *codenames: str) -> None:
        debs = {name: aptrepo.packages(self.debs, name) for name in codenames}
        aptrepo.publish(self.out, debs, key)


class Apt:
    """apt with its own root: nothing of this machine's configuration, lists or packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in (
            "etc/apt/keyrings",
            "etc/apt/apt.conf.d",
            "etc/apt/sources.list.d",
            "var/lib/dpkg",
            "lists/partial",
        ):
            (root / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        (root / "apt.conf").write_text(
            f'Dir "{root}";\nDir::State::status "{root}/var/lib/dpkg/status";\n'
            'APT::Sandbox::User "";\nDir::Etc "etc/apt";\n'
        )

    def use(self, repository: Path, key: Path, codename: str = "bookworm") -> None:
        """As README.md says."""
        keyring = shutil.copy(key, self.root / "etc/apt/keyrings/gluster-ml-agent.asc")
        readme = (REPOSITORY / "README.md").read_text()
        (paragraph,) = re.findall(r"^    (Types: deb\n(?:    .*\n)+)", readme, re.MULTILINE)
        source = (
            paragraph.replace("    ", "")
            .replace("https://apt.example.com/gluster-ml", f"file:{repository}")
            .replace("/etc/apt/keyrings/gluster-ml-agent.asc", str(keyring))
            .replace("bookworm", codename)
            .replace("amd64", NATIVE)
        )
        (self.root / "etc/apt/sources.list.d/gluster-ml-agent.sources").write_text(source)

    def run(self, *argv: str) -> Done:
        environment = [f"APT_CONFIG={self.root}/apt.conf", "LC_ALL=C"]
        return run(["env", "-C", str(self.root), *environment, *argv])

    def candidate(self) -> str:
        policy = self.run("apt-cache", "policy", "gluster-ml-agent").stdout
        return policy.split("Candidate: ")[1].split("\n")[0] if policy else "(none)"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def apt(tmp_path: Path) -> Apt:
    return Apt(tmp_path / "root")


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[signingkey.SigningKey]:
    with signingkey.throw_away(tmp_path_factory.mktemp("key") / "apt-key") as made:
        yield made


def published(shelf: Shelf) -> Path:
    return shelf.out / "gluster-ml-agent.asc"


def test_apt_believes_it(shelf: Shelf, apt: Apt, key: signingkey.SigningKey) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm", "trixie")
    for codename, version in (("bookworm", "0.1.0~deb12u1"), ("trixie", "0.1.0~deb13u1")):
        apt.use(shelf.out, published(shelf), codename)
        said = apt.run("apt-get", "update")
        assert said.stderr == ""  # no warning
        assert apt.candidate() == version
        apt.run("apt-get", "download", "gluster-ml-agent")
        name = f"gluster-ml-agent_{version}_{NATIVE}.deb"
        assert (apt.root / name).read_bytes() == (shelf.debs / codename / name).read_bytes()
    assert sorted(path.name for path in shelf.out.iterdir()) == [
        "dists",
        "gluster-ml-agent.asc",
        "pool",
    ]
    release = (shelf.out / "dists/trixie/Release").read_text()
    for line in (
        "Origin: gluster-ml-agent",
        "Label: gluster-ml-agent",
        "Suite: trixie",
        "Codename: trixie",
        f"Architectures: {NATIVE}",
        "Components: main",
    ):
        assert f"{line}\n" in release


def test_a_web_server_may_read_all_of_it(shelf: Shelf, key: signingkey.SigningKey) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm")
    for path in (shelf.out, *shelf.out.rglob("*")):
        assert path.stat().st_mode & (0o555 if path.is_dir() else 0o444) >= 0o444, path


def test_a_tampered_index_is_refused(shelf: Shelf, apt: Apt, key: signingkey.SigningKey) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm")
    index = shelf.out / f"dists/bookworm/main/binary-{NATIVE}/Packages"
    index.write_text(index.read_text().replace("stand-in", "Trojan!!"))
    index.with_suffix(".gz").write_bytes(gzip.compress(index.read_bytes()))
    apt.use(shelf.out, published(shelf))
    with pytest.raises(
        LabError, match=r"exit 100: (.|\n)*(unexpected size|Hash Sum mismatch)"
    ) as caught:
        apt.run("apt-get", "update")
    assert "Packages" in str(caught.value)
    assert apt.candidate() == "(none)"


def test_a_tampered_release_is_refused(shelf: Shelf, apt: Apt, key: signingkey.SigningKey) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm")
    release = shelf.out / "dists/bookworm/InRelease"
    release.write_text(release.read_text().replace("Label: gluster", "Label: cluster"))
    apt.use(shelf.out, published(shelf))
    with pytest.raises(LabError, match="exit 100: "):
        apt.run("apt-get", "update")


def test_a_tampered_package_is_refused(shelf: Shelf, apt: Apt, key: signingkey.SigningKey) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm")
    apt.use(shelf.out, published(shelf))
    apt.run("apt-get", "update")
    (package,) = shelf.out.glob("pool/**/*deb12u1*.deb")
    package.write_bytes(package.read_bytes()[:-1] + b"X")
    with pytest.raises(LabError, match=r"exit 100: (.|\n)*Hash Sum mismatch"):
        apt.run("apt-get", "download", "gluster-ml-agent")


def test_another_key_is_refused(
    shelf: Shelf, apt: Apt, key: signingkey.SigningKey, tmp_path: Path
) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm")
    with signingkey.throw_away(tmp_path / "foreign") as foreign:
        (tmp_path / "foreign.asc").write_text(foreign.public())
    apt.use(shelf.out, tmp_path / "foreign.asc")
    with pytest.raises(LabError, match=f"exit 100: (.|\n)*NO_PUBKEY {key.fingerprint[-16:]}"):
        apt.run("apt-get", "update")


def test_rebuilt_and_raised(shelf: Shelf, apt: Apt, key: signingkey.SigningKey) -> None:
    """The same version with another content, then a higher one, with the lower one's file."""
    shelf.add("0.9.0", "one")
    shelf.publish(key, "bookworm", "trixie")
    apt.use(shelf.out, published(shelf))
    apt.run("apt-get", "update")
    shelf.add("0.9.0", "another")
    shelf.publish(key, "bookworm", "trixie")
    apt.run("apt-get", "update")
    apt.run("apt-get", "download", "gluster-ml-agent")
    name = f"gluster-ml-agent_0.9.0~deb12u1_{NATIVE}.deb"
    rebuilt = (shelf.debs / "bookworm" / name).read_bytes()
    assert (apt.root / name).read_bytes() == rebuilt
    shelf.clear()
    shelf.add("0.10.0")
    shelf.publish(key, "bookworm")
    apt.run("apt-get", "update")
    assert apt.candidate() == "0.10.0~deb12u1"
    assert "0.9.0~deb12u1" not in apt.run("apt-cache", "madison", "gluster-ml-agent").stdout
    assert (shelf.pool / name).read_bytes() == rebuilt
    # Of trixie nothing was made this time, so nothing of it is there.
    assert len(list(shelf.pool.iterdir())) == 2


def test_what_was_tried_with_a_higher_version_does_not_stay(
    shelf: Shelf, key: signingkey.SigningKey
) -> None:
    for version in ("0.1.0", "0.3.0", "0.2.0"):
        shelf.clear()
        shelf.add(version)
        shelf.publish(key, "bookworm")
    assert sorted(path.name for path in shelf.pool.iterdir()) == [
        f"gluster-ml-agent_{version}~deb12u1_{NATIVE}.deb" for version in ("0.1.0", "0.2.0")
    ]


def pins() -> list[str]:
    """The paragraphs of preferences in docs/installation.md."""
    page = (REPOSITORY / "docs/installation.md").read_text()
    found = re.findall(r"^    (Package: .*\n(?:    Pin.*\n){2})", page, re.MULTILINE)
    return [paragraph.replace("    ", "") for paragraph in found]


def test_the_repository_may_replace_nothing_else(
    shelf: Shelf, apt: Apt, key: signingkey.SigningKey
) -> None:
    shelf.add("0.2.0")
    shelf.publish(key, "bookworm")
    apt.use(shelf.out, published(shelf))
    apt.run("apt-get", "update")
    others, ours, _ = pins()
    preferences = apt.root / "etc/apt/preferences"
    preferences.write_text(others)
    assert apt.candidate() == "(none)"
    preferences.write_text(f"{others}\n{ours}")
    assert apt.candidate() == "0.2.0~deb12u1"


def test_a_host_that_stays_on_its_version(
    shelf: Shelf, apt: Apt, key: signingkey.SigningKey
) -> None:
    (apt.root / "var/lib/dpkg/status").write_text(
        f"Package: gluster-ml-agent\nStatus: install ok installed\nArchitecture: {NATIVE}\n"
        "Version: 0.1.0~deb12u1\nMaintainer: Some One <someone@example.org>\nDescription: it\n"
    )
    (apt.root / "etc/apt/preferences").write_text(pins()[2])
    for offered, taken in (("0.2.0", "0.1.0"), ("0.1.1", "0.1.1")):
        shelf.clear()
        shelf.add(offered)
        shelf.publish(key, "bookworm")
        apt.use(shelf.out, published(shelf))
        apt.run("apt-get", "update")
        assert apt.candidate() == f"{taken}~deb12u1"


def test_what_fails_leaves_the_old_one(shelf: Shelf, key: signingkey.SigningKey) -> None:
    shelf.add("0.1.0")
    shelf.publish(key, "bookworm")
    before = (shelf.out / "dists/bookworm/InRelease").read_bytes()
    unknown = signingkey.SigningKey("0" * 40, key.environment)
    with pytest.raises(Problem, match="reprepro failed: "):
        shelf.publish(unknown, "bookworm")
    assert (shelf.out / "dists/bookworm/InRelease").read_bytes() == before
    broken = shelf.debs / "bookworm/broken.deb"
    broken.write_text("no archive")
    with pytest.raises(Problem, match="dpkg-deb failed: "):
        shelf.publish(key, "bookworm")
    assert sorted(path.name for path in shelf.out.parent.iterdir()) == ["apt", "deb"]


def test_exchanged_in_one_step(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    held = os.open(tmp_path / "one", os.O_RDONLY)  # whoever reads on in the old one
    aptrepo.exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one/other").exists()
    assert (tmp_path / "other/one").exists()
    assert os.listdir(held) == ["one"]
    os.close(held)
    with pytest.raises(FileNotFoundError):
        aptrepo.exchange(tmp_path / "one", tmp_path / "none")


def test_nothing_built(shelf: Shelf) -> None:
    with pytest.raises(Problem, match=r"deb/trixie: no package; make deb RELEASE=trixie"):
        aptrepo.packages(shelf.debs, "trixie")


def test_what_was_left_in_the_build_is_not_published(shelf: Shelf) -> None:
    shelf.add("99.0.0")
    debs = aptrepo.packages(shelf.debs, "bookworm")
    with pytest.raises(Problem, match=r"is version 99\.0\.0~deb12u1, the checkout's is "):
        aptrepo.check_current(debs, "bookworm")


def test_the_throw_away_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Made once, nobody else's, Ed25519, without an end; and no agent of gpg's stays."""
    kept = tmp_path / ("a" * 100) / "apt-key"
    with signingkey.throw_away(kept) as first:
        homes = [first.environment["GNUPGHOME"]]
        gpg = ["env", f"GNUPGHOME={homes[0]}"]
        listing = run([*gpg, "gpg", "--with-colons", "--list-secret-keys"]).stdout
        agent = run([*gpg, "gpg-connect-agent", "GETINFO pid", "/bye"]).stdout.split()[1]
    until(lambda: not Path("/proc", agent).exists(), 30, "gpg's agent is gone")
    assert "for tests only" in capsys.readouterr().err
    (secret,) = [line.split(":") for line in listing.splitlines() if line.startswith("sec:")]
    assert (secret[3], secret[6], secret[16]) == ("22", "", "ed25519")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with signingkey.throw_away(kept) as second:
        homes.append(second.environment["GNUPGHOME"])
        assert second.public().startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----")
    assert first.fingerprint == second.fingerprint
    assert os.listdir(kept.parent) == ["apt-key"]
    assert not any(Path(home).exists() for home in homes)


def test_a_key_of_ones_own(
    key: signingkey.SigningKey, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GNUPGHOME", key.environment["GNUPGHOME"])
    now = datetime.now(UTC)
    spaced = " ".join(re.findall("....", key.fingerprint.lower()))
    assert signingkey.own(spaced, now).public() == key.public()
    assert capsys.readouterr().err == ""
    for wrong in ("F00D", "me@example.org", ""):
        with pytest.raises(Problem, match="not a fingerprint"):
            signingkey.own(wrong, now)
    with pytest.raises(Problem, match=r"KEY=0{40}: no such secret key in /.*: gpg"):
        signingkey.own("0" * 40, now)


def test_a_key_that_ends_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    row = "sec:{}:255:22:AAAA:1700000000:{}::u:::scESC:::+::ed25519:::0:\n"
    now = datetime(2027, 1, 1, tzinfo=UTC)
    ends = int(datetime(2027, 3, 2, tzinfo=UTC).timestamp())
    signingkey._check_usable(row.format("u", ends), "AAAA", now)
    assert "The key expires on 2027-03-02, in 60 days" in capsys.readouterr().err
    for validity in "der":
        with pytest.raises(Problem, match="is expired, revoked or disabled"):
            signingkey._check_usable(row.format(validity, ""), "AAAA", now)


def test_the_command(shelf: Shelf, apt: Apt, key: signingkey.SigningKey) -> None:
    """As others run it: packages and place named, signed with a key of the caller's."""
    shelf.add("3.0.0")
    script = str(REPOSITORY / "packaging/deb/aptrepo.py")
    environment = ["env", f"GNUPGHOME={key.environment['GNUPGHOME']}"]
    places = ["--debs", str(shelf.debs), "--out", str(shelf.out)]
    command = [*environment, sys.executable, script, *places, "--key", key.fingerprint]
    said = run([*command, "bookworm", "trixie"]).stdout
    assert f"{shelf.out}: trixie has gluster-ml-agent_3.0.0~deb13u1_{NATIVE}.deb\n" in said
    apt.use(shelf.out, published(shelf))
    apt.run("apt-get", "update")
    assert apt.candidate() == "3.0.0~deb12u1"
    with pytest.raises(LabError, match="apt-repo: KEY=F00D: not a fingerprint"):
        run([*command[:-1], "F00D", "bookworm"])
