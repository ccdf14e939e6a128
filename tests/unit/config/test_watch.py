"""Every way in which a configuration is saved, against the real watcher and the real kernel."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from agent.config.watch import Watcher, watch_directory, watch_file

DEADLINE = 30.0
POLL_ONLY = 0.2


class Changes:
    """Counts calls, and lets a test wait for them."""

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1
        self._event.set()

    async def one(self) -> None:
        await asyncio.wait_for(self._event.wait(), DEADLINE)
        self._event.clear()


async def armed(watcher: Watcher) -> None:
    end = time.monotonic() + DEADLINE
    while not watcher.has_inotify:
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def by_rename(path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_text("mounts: {}  # renamed\n")
    new.replace(path)


def in_place(path: Path) -> None:
    with path.open("a") as file:
        file.write("# more\n")


def same_size_and_old_time(path: Path) -> None:
    before = path.stat()
    path.write_text("mounts: {}#\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def by_cp(path: Path) -> None:
    other = path.parent.parent / "other.yaml"
    other.write_text("mounts: {}  # copied\n")
    subprocess.run(["cp", str(other), str(path)], check=True)


def by_sed(path: Path) -> None:
    subprocess.run(["sed", "-i", "s/mounts/mounts /", str(path)], check=True)


def editor_with_backup(path: Path) -> None:
    path.replace(path.with_suffix(".yaml~"))
    path.write_text("mounts: {}  # saved\n")


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_text("")


def unreadable(path: Path) -> None:
    path.chmod(0)


SAVES = [
    by_rename,
    in_place,
    same_size_and_old_time,
    by_cp,
    by_sed,
    editor_with_backup,
    removed,
    emptied,
    unreadable,
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "etc"
    folder.mkdir()
    path = folder / "agent.yaml"
    path.write_text("mounts: {} \n")
    return path


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(test())


@pytest.mark.parametrize("save", SAVES, ids=lambda save: save.__name__)
def test_a_save_is_told_once_by_inotify(config: Path, save: Callable[[Path], None]) -> None:
    async def test() -> None:
        changes = Changes()
        # A poll that never comes: what is told here, inotify has told.
        async with watch_file(str(config), changes, poll=3600) as watcher:
            await armed(watcher)
            save(config)
            await changes.one()
            await asyncio.sleep(0.7)
        assert changes.count == 1

    run(test)


@pytest.mark.parametrize("save", SAVES, ids=lambda save: save.__name__)
def test_a_save_is_told_once_by_polling(
    config: Path, save: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr("watchdog.observers.api.BaseObserver.schedule", exhausted)

    async def test() -> None:
        changes = Changes()
        async with watch_file(str(config), changes, poll=POLL_ONLY) as watcher:
            save(config)
            await changes.one()
            await asyncio.sleep(0.7)
            assert not watcher.has_inotify
        assert changes.count == 1

    run(test)


def test_configmap_swaps_its_symlink_twice(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    for version in ("..1", "..2", "..3"):
        (folder / version).mkdir(parents=True)
        (folder / version / "agent.yaml").write_text(f"mounts: {{}}  # {version}\n")
    (folder / "..data").symlink_to("..1")
    (folder / "agent.yaml").symlink_to("..data/agent.yaml")

    def swap(version: str) -> None:
        (folder / "..data_tmp").symlink_to(version)
        (folder / "..data_tmp").replace(folder / "..data")

    async def test() -> None:
        changes = Changes()
        async with watch_file(str(folder / "agent.yaml"), changes, poll=3600) as watcher:
            await armed(watcher)
            for number, version in enumerate(["..2", "..3"], start=1):
                swap(version)
                await changes.one()
                assert changes.count == number

    run(test)


def test_a_slow_writer_is_told_once_it_rests(config: Path) -> None:
    async def test() -> None:
        changes = Changes()
        async with watch_file(str(config), changes, poll=3600, settle=3.0, settle_limit=60) as w:
            await armed(w)
            for _ in range(8):
                in_place(config)
                await asyncio.sleep(0.1)
            assert changes.count == 0
            await changes.one()
        assert changes.count == 1

    run(test)


def test_a_writer_that_never_rests_does_not_put_it_off_for_ever(config: Path) -> None:
    async def test() -> None:
        changes = Changes()

        async def scribble() -> None:
            while True:
                in_place(config)
                await asyncio.sleep(0.02)

        async with watch_file(str(config), changes, settle=0.2, settle_limit=0.6):
            task = asyncio.create_task(scribble())
            await changes.one()
            task.cancel()

    run(test)


def test_a_change_between_start_and_inotify_is_seen(config: Path) -> None:
    async def test() -> None:
        changes = Changes()
        async with watch_file(str(config), changes, poll=3600):
            in_place(config)  # its task has not run yet
            await changes.one()

    run(test)


def test_the_directory_comes_goes_and_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "etc"

    async def test() -> None:
        changes = Changes()
        async with watch_file(str(folder / "agent.yaml"), changes, poll=POLL_ONLY) as watcher:
            for _ in range(3):
                folder.mkdir()
                await armed(watcher)
                (folder / "agent.yaml").write_text("mounts: {}\n")
                await changes.one()
                (folder / "agent.yaml").unlink()
                folder.rmdir()
                await changes.one()
            folder.mkdir()
            await armed(watcher)
            os.rename(folder, tmp_path / "old")
            folder.mkdir()
            (folder / "agent.yaml").write_text("mounts: {}\n")
            await changes.one()

    run(test)


def test_a_symlinked_directory_is_watched_by_inotify(config: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("etc")

    async def test() -> None:
        changes = Changes()
        async with watch_file(str(tmp_path / "link/agent.yaml"), changes, poll=3600) as watcher:
            await armed(watcher)
            in_place(config)
            await changes.one()

    run(test)


def test_a_directory_tells_of_its_entries(tmp_path: Path) -> None:
    async def test() -> None:
        changes = Changes()
        async with watch_directory(str(tmp_path / "paused"), changes, poll=POLL_ONLY) as watcher:
            (tmp_path / "paused").mkdir()
            await changes.one()
            await armed(watcher)
            (tmp_path / "paused/model-share").touch()
            await changes.one()
            (tmp_path / "paused/model-share").unlink()
            await changes.one()

    run(test)


def test_reading_the_file_is_no_change(config: Path) -> None:
    async def test() -> None:
        changes = Changes()
        async with watch_file(str(config), changes, poll=POLL_ONLY) as watcher:
            await armed(watcher)
            for _ in range(5):
                await asyncio.to_thread(config.read_text)
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.7)
        assert changes.count == 0

    run(test)


def test_a_callback_that_raises_does_not_end_the_watch(config: Path) -> None:
    async def test() -> None:
        told: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        done = asyncio.Event()

        def fail() -> None:
            done.set()
            raise RuntimeError("from the callback")

        async with watch_file(str(config), fail):
            for _ in range(2):
                done.clear()
                in_place(config)
                await asyncio.wait_for(done.wait(), DEADLINE)
        assert len(told) == 2

    run(test)


def test_start_and_stop_leave_no_thread_task_or_descriptor(config: Path) -> None:
    async def cycle() -> None:
        async with watch_file(str(config), lambda: None) as watcher:
            await armed(watcher)

    async def test() -> None:
        await asyncio.to_thread(lambda: None)  # the loop's own pool
        before = threading.active_count(), len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            await cycle()
        pool = asyncio.get_running_loop()._default_executor  # type: ignore[attr-defined]
        extra = len(pool._threads) - 1
        after = threading.active_count() - extra, len(os.listdir("/proc/self/fd"))
        assert after == before
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(test)


def test_a_file_to_keep_away_from_is_not_looked_at(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ["/mnt/hung"]
    looked: list[object] = []
    stat = os.stat

    def recorded(path: Any, **how: Any) -> os.stat_result:
        if str(path).startswith(str(config.parent)):
            looked.append(path)
        return stat(path, **how)

    async def test() -> None:
        changes = Changes()
        async with watch_file(str(config), changes, poll=0.05, away=lambda: where[0]):
            await asyncio.sleep(0.5)
            assert (looked, changes.count) == ([], 0)
            where[0] = ""
            await changes.one()

    monkeypatch.setattr(os, "stat", recorded)
    run(test)
    assert looked


EXHAUSTED = """
import asyncio, os, pathlib, sys, threading
from agent.config import watch

watch._RETRY_INOTIFY = 0

def held():
    return threading.active_count(), len(os.listdir("/proc/self/fd"))

async def main(path):
    changed = asyncio.Event()
    before = held()
    async with watch.watch_file(str(path), changed.set, poll=0.05) as watcher:
        await asyncio.sleep(1)
        assert not watcher.has_inotify, "inotify was to be exhausted"
        assert held() == before, (before, held())
        path.write_text("mounts: {}  # new")
        await asyncio.wait_for(changed.wait(), 30)
    print("told")

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


@pytest.mark.parametrize("limit", ["max_inotify_instances", "max_inotify_watches"])
def test_inotify_is_really_exhausted(config: Path, limit: str) -> None:
    """In a user namespace of its own, the limit for it is 0."""
    script = f'echo 0 > /proc/sys/user/{limit} && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    result = subprocess.run(
        [*command, sys.executable, "-c", EXHAUSTED, str(config)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (result.stdout, result.returncode) == ("told\n", 0), result.stderr
