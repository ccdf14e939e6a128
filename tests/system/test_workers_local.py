"""The workers on local file systems: what needs root but no GlusterFS."""

import asyncio
import errno
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from agent.model.mount import ClientState, Holder
from agent.protocol import ProbeReply, ProbeRequest, Step, decode_probe_reply, encode
from agent.system import mountinfo, mounttable, mountwatch, proc
from agent.system.children import Children
from agent.system.workers import Guard, GuardState, Holders, Workers
from agent.worker import own, roundtrip

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

PATIENCE = 60
NOBODY = 65534


def mount(path: Path, *options: str, fstype: str = "tmpfs", source: str = "tmpfs") -> None:
    path.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", fstype, *options, source, str(path)], check=True)


def unmount(path: Path, *options: str) -> int:
    return subprocess.run(["umount", *options, str(path)], check=False).returncode


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    path = tmp_path / "volume"
    mount(path, "-o", "size=1m,mode=0755")
    yield path
    unmount(path, "-l")


def device_of(path: Path) -> tuple[int, int]:
    number = path.stat().st_dev
    return (os.major(number), os.minor(number))


T = TypeVar("T")


def with_children(body: Callable[[Children], Awaitable[T]]) -> T:
    async def main() -> T:
        children = Children()
        try:
            return await asyncio.wait_for(body(children), PATIENCE)
        finally:
            await children.close(PATIENCE)

    return asyncio.run(main())


def probe(
    path: Path, device: tuple[int, int] | None = None, write: str | None = "host"
) -> ProbeReply:
    request = ProbeRequest(7, str(path), device or device_of(path), write)

    async def body(children: Children) -> ProbeReply:
        child = children.spawn("probe", "a")
        child.send(encode(request))
        return decode_probe_reply(await child.next_line())

    return with_children(body)


def failed(reply: ProbeReply) -> Step:
    assert reply.write is not None
    assert reply.write.errno != 0
    return reply.write


class TestProbe:
    def test_a_round_trip_leaves_nothing_but_its_directories(self, volume: Path) -> None:
        for _ in range(2):
            reply = probe(volume)
            assert reply.id == 7
            assert reply.on_device
            assert reply.statvfs == Step("statvfs", 0)
            assert reply.read == Step("list the root", 0)
            assert reply.write == Step("write and read back in .gluster-ml/probes", 0)
            assert 0 < reply.free <= reply.total == 1 << 20
            assert reply.graph is None
            assert 0 < reply.seconds < PATIENCE
        base = volume / ".gluster-ml"
        assert stat.S_IMODE(base.stat().st_mode) == 0o711
        assert stat.S_IMODE((base / "probes").stat().st_mode) == 0o700
        assert sorted(volume.rglob("*")) == [base, base / "probes"]

    def test_a_probe_that_only_reads_writes_nothing(self, volume: Path) -> None:
        reply = probe(volume, write=None)
        assert reply.read == Step("list the root", 0)
        assert reply.write is None
        assert list(volume.iterdir()) == []

    def test_another_device_is_not_written_to(self, volume: Path, tmp_path: Path) -> None:
        bare = tmp_path / "bare"
        bare.mkdir()
        for path, device in (
            (bare, device_of(volume)),
            (volume, device_of(bare)),
            (tmp_path / "nosuch", device_of(volume)),
        ):
            reply = probe(path, device)
            assert not reply.on_device
            assert (reply.statvfs, reply.read, reply.write) == (None, None, None)
        assert list(bare.iterdir()) == []
        assert list(volume.iterdir()) == []

    def test_a_link_at_the_mount_point_is_not_followed(self, volume: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(volume)
        assert not probe(link, device_of(volume)).on_device

    def test_the_mount_is_idle_between_probes(self, volume: Path) -> None:
        async def body(children: Children) -> int:
            child = children.spawn("probe", "a")
            child.send(encode(ProbeRequest(1, str(volume), device_of(volume), "host")))
            await child.next_line()
            return unmount(volume)

        assert with_children(body) == 0

    def test_a_leftover_is_replaced(self, volume: Path) -> None:
        probes = volume / ".gluster-ml/probes"
        probes.mkdir(parents=True)
        (probes / "host").write_text("old")
        assert probe(volume).write == Step("write and read back in .gluster-ml/probes", 0)
        assert list(probes.iterdir()) == []

    def test_a_link_in_place_of_our_directory_is_not_followed(
        self, volume: Path, tmp_path: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (volume / ".gluster-ml").symlink_to(elsewhere)
        step = failed(probe(volume))
        assert step.name == "open .gluster-ml"
        assert step.errno in (errno.ELOOP, errno.ENOTDIR)
        assert list(elsewhere.iterdir()) == []

    def test_a_link_in_place_of_the_inner_directory_is_not_followed(
        self, volume: Path, tmp_path: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (volume / ".gluster-ml").mkdir()
        (volume / ".gluster-ml/probes").symlink_to(elsewhere)
        assert failed(probe(volume)).name == "open .gluster-ml/probes"
        assert list(elsewhere.iterdir()) == []

    def test_a_fifo_in_place_of_our_directory_blocks_nobody(self, volume: Path) -> None:
        os.mkfifo(volume / ".gluster-ml")
        assert failed(probe(volume)) == Step("open .gluster-ml", errno.ENOTDIR)

    def test_a_users_directory_is_not_ours(self, volume: Path) -> None:
        base = volume / ".gluster-ml"
        base.mkdir()
        os.chown(base, NOBODY, NOBODY)
        step = failed(probe(volume))
        assert step == Step("check .gluster-ml (owner is uid 65534, not root)", errno.EPERM)
        assert list(base.iterdir()) == []

    def test_what_a_squashed_root_makes_is_taken_away_again(
        self, volume: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Or it would be in the way once root is root."""
        mkdir = os.mkdir

        def squashed(path: str, mode: int, *, dir_fd: int) -> None:
            mkdir(path, mode, dir_fd=dir_fd)
            os.chown(path, NOBODY, NOBODY, dir_fd=dir_fd)

        monkeypatch.setattr(os, "mkdir", squashed)
        root = os.open(volume, os.O_RDONLY)
        try:
            found = roundtrip.write(root, "host")
            with pytest.raises(own.RefusedError, match=r"make \.gluster-ml") as refused:
                own.directory(root, "layout", make=True)
        finally:
            os.close(root)
        why = "mkdir .gluster-ml (it became uid 65534's)"
        assert found == {"name": why, "errno": errno.EACCES}
        assert refused.value.errno == errno.EACCES
        assert list(volume.iterdir()) == []

    def test_another_file_system_within_is_not_ours(self, volume: Path) -> None:
        base = volume / ".gluster-ml"
        mount(base)
        try:
            step = failed(probe(volume))
            assert step == Step("check .gluster-ml (another file system)", errno.EXDEV)
            assert list(base.iterdir()) == []
        finally:
            unmount(base)

    def test_a_full_file_system(self, volume: Path) -> None:
        (volume / ".gluster-ml/probes").mkdir(parents=True)
        with pytest.raises(OSError, match="No space"), (volume / "big").open("wb") as file:
            file.write(bytes(2 << 20))
        step = failed(probe(volume))
        assert step == Step("write .gluster-ml/probes/host", errno.ENOSPC)
        assert list((volume / ".gluster-ml/probes").iterdir()) == []

    def test_a_read_only_file_system(self, volume: Path) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(volume)], check=True)
        assert failed(probe(volume)) == Step("mkdir .gluster-ml", errno.EROFS)

    def test_forged_meta_is_read_within_bounds(self, volume: Path) -> None:
        active = volume / ".meta/graphs/g"
        active.mkdir(parents=True)
        (volume / ".meta/graphs/active").symlink_to("g")
        os.mkfifo(active / "volfile")
        assert probe(volume).graph is None
        (active / "volfile").unlink()
        (active / "volfile").write_text(
            "volume a\ntype protocol/client\noption remote-subvolume /b\nend-volume\n"
            "volume ../../x\ntype protocol/client\noption remote-subvolume /c\nend-volume\n"
        )
        (active / "a").mkdir()
        (active / "a/private").symlink_to("/proc/self/environ")
        assert probe(volume).graph is None
        (active / "a/private").unlink()
        (active / "a/private").write_text("connected = 1\n" + "x" * 70000)
        assert probe(volume).graph is None
        (active / "a/private").write_text("connected = 1\n" + "x" * 60000)
        graph = probe(volume).graph
        assert graph is not None
        assert graph.bricks == (("a", "", "/b", True), ("../../x", "", "/c", False))

    def test_a_forged_graph_that_is_too_long_to_tell(self, volume: Path) -> None:
        subprocess.run(["mount", "-o", "remount,size=16m", str(volume)], check=True)
        active = volume / ".meta/graphs/g"
        active.mkdir(parents=True)
        (volume / ".meta/graphs/active").symlink_to("g")
        block = "volume /{}\ntype protocol/client\noption remote-subvolume /{}\nend-volume\n"
        blocks = [block.format(number, "\u20ac" * 1000) for number in range(600)]
        (active / "volfile").write_text("".join(blocks), encoding="utf-8")
        reply = probe(volume)
        assert reply.graph is None
        assert reply.write == Step("write and read back in .gluster-ml/probes", 0)

    def test_a_link_out_of_meta_is_not_followed(self, volume: Path, tmp_path: Path) -> None:
        (volume / ".meta/graphs").mkdir(parents=True)
        (tmp_path / "volfile").write_text("")
        for target in (str(tmp_path), "..", "."):
            link = volume / ".meta/graphs/active"
            link.symlink_to(target)
            assert probe(volume).graph is None
            link.unlink()


def guard(path: Path, *, immutable: bool) -> Guard:
    async def body(children: Children) -> Guard:
        return await Workers(children).guard("a", str(path), immutable=immutable, deadline=PATIENCE)

    return with_children(body)


class TestGuard:
    def test_the_bare_directory_refuses_writes_and_takes_them_again(self, tmp_path: Path) -> None:
        path = tmp_path / "mnt/a"
        try:
            assert guard(path, immutable=True) == Guard(GuardState.SET)
            with pytest.raises(PermissionError):
                (path / "x").touch()
            assert guard(path, immutable=True) == Guard(GuardState.SET)
            # It can still be mounted over.
            mount(path)
            assert guard(path, immutable=False) == Guard(GuardState.MOUNTED)
            unmount(path)
        finally:
            assert guard(path, immutable=False) == Guard(GuardState.CLEAR)
        (path / "x").touch()
        (path / "y").mkdir()
        assert guard(path, immutable=False) == Guard(GuardState.CLEAR, strays=2)
        assert stat.S_IMODE(path.stat().st_mode) == 0o755

    def test_a_bind_mount_of_the_same_file_system_is_a_mount(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.mkdir()
        subprocess.run(["mount", "--bind", str(path), str(path)], check=True)
        try:
            assert guard(path, immutable=True).state is GuardState.MOUNTED
        finally:
            unmount(path)
        (path / "x").touch()

    @pytest.mark.parametrize("where", ["link", "link/below", "file", "file/below"])
    def test_links_and_files_on_the_way_are_refused(self, tmp_path: Path, where: str) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        (tmp_path / "file").touch()
        found = guard(tmp_path / where, immutable=True)
        assert found.state is GuardState.REFUSED
        assert found.errno in (errno.ELOOP, errno.ENOTDIR)
        assert found.detail == f"open {tmp_path / where.partition('/')[0]}"
        assert list((tmp_path / "real").iterdir()) == []

    def test_a_file_system_without_the_flag_says_so(self, tmp_path: Path) -> None:
        parent = tmp_path / "ramfs"
        mount(parent, fstype="ramfs")
        try:
            found = guard(parent / "a", immutable=True)
            assert found.state is GuardState.UNSUPPORTED
            assert found.errno != 0
        finally:
            unmount(parent)


def holders(device: tuple[int, int], deadline: float = PATIENCE) -> Holders:
    async def body(children: Children) -> Holders:
        return await Workers(children).holders("a", device, deadline)

    return with_children(body)


def by_pid(found: Holders) -> dict[int, Holder]:
    assert found.complete
    return {holder.pid: holder for holder in found.found}


def is_named(pid: int, comm: str) -> bool:
    found = proc.read_stat(pid)
    return found is not None and found.comm == comm


class TestHolders:
    def test_every_way_to_hold_a_mount_also_once_it_was_detached(self, volume: Path) -> None:
        device = device_of(volume)
        (volume / "data").write_bytes(bytes(4096))
        program = Path(shutil.copy("/bin/sleep", volume / "program"))
        sleep = ["sleep", "600"]
        with (volume / "data").open() as held:
            opener = subprocess.Popen(sleep, stdin=held, user=NOBODY)
        walker = subprocess.Popen(sleep, cwd=volume)
        other = subprocess.Popen(["unshare", "-m", "--propagation", "private", *sleep])
        runner = subprocess.Popen([program, "600"])
        everyone = [opener, walker, other, runner]
        try:
            while not is_named(other.pid, "sleep"):
                time.sleep(0.01)
            for _ in range(2):
                found = by_pid(holders(device))
                assert found[opener.pid].how == "open file"
                assert found[opener.pid].uid == NOBODY
                assert found[opener.pid].comm == "sleep"
                assert found[walker.pid].how == "cwd"
                assert found[runner.pid].how == "mapped file"
                assert found[other.pid].how == "mount namespace"
                unmount(volume, "-l")
        finally:
            for process in everyone:
                process.kill()
                process.wait()

    def test_nobody_holds_an_idle_mount(self, volume: Path) -> None:
        found = by_pid(holders(device_of(volume)))
        assert all(holder.how == "mount namespace" for holder in found.values())

    def test_arguments_are_never_told(self, volume: Path) -> None:
        process = subprocess.Popen(["sh", "-c", "sleep 600; : secret-token"], cwd=volume)
        try:
            assert "secret" not in repr(holders(device_of(volume)))
        finally:
            process.kill()
            process.wait()

    def test_a_deadline_gives_what_was_found_by_then(self, volume: Path) -> None:
        assert not holders(device_of(volume), deadline=0.001).complete


def test_a_mount_without_a_client_has_none(volume: Path) -> None:
    async def body(children: Children) -> ClientState:
        (entry,) = mountinfo.layers_at(mounttable.read(), str(volume))
        found = await Workers(children).find_client("a", entry, (1, 2**22 + 1), (0, 1), PATIENCE)
        return found.state

    assert with_children(body) is ClientState.GONE


def test_the_mount_table_tells_of_changes(tmp_path: Path) -> None:
    async def body() -> None:
        changed = asyncio.Event()
        watch = mountwatch.MountWatch(changed.set)
        try:
            for round_number in range(20):
                changed.clear()
                path = tmp_path / str(round_number)
                await asyncio.to_thread(mount, path)
                await asyncio.wait_for(changed.wait(), PATIENCE)
                assert mountinfo.layers_at(mounttable.read(), str(path))
                changed.clear()
                await asyncio.to_thread(unmount, path)
                await asyncio.wait_for(changed.wait(), PATIENCE)
                assert not mountinfo.layers_at(mounttable.read(), str(path))
            # The file is always readable: the loop must not spin on that.
            busy = time.process_time()
            await asyncio.sleep(0.5)
            assert time.process_time() - busy < 0.25
        finally:
            watch.close()

    asyncio.run(body())
