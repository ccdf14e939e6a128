"""The same with real processes: what cleans, restores and removes is killed at any time, while
writers go on beside it. What is there afterwards is judged as what the model's steps leave."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from agent.worker import clean, purge, trashback
from agent.worker.removal import Pace
from tests.unit.retention.model.effects import Watch
from tests.unit.retention.model.volume import Host, counted
from tests.unit.retention.model.volume import World as Model
from tests.unit.retention.trash_world import World

ROUNDS = 25


class Killing:
    """What is done in a child that is killed, each time after another while."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lot = random.Random(7)  # noqa: S311

    def killed(self, work: Callable[[], object], host: Host | None, within: float) -> None:
        """Do it in a child, and kill that; whether it was still at it."""

        def both() -> None:
            child = os.fork()
            if child == 0:
                try:
                    work()
                    os._exit(0)
                finally:
                    os._exit(1)
            for run in self.model.runs:
                run.go_on(self.model.touch())
            time.sleep(self.lot.random() * within)
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work itself failed"
            counted["really killed"] += os.WIFSIGNALED(status)

        self.model._checked(both, Watch(), host)

    def pass_of(self, host: Host) -> None:
        before = host.remembered()
        request = self.model._request(host)
        self.killed(lambda: list(clean.clean(request, host)), host, 0.04)
        if host.remembered() != before:
            host.looks.append((self.model.touch(), self.model.monotonic))

    def restore(self, id_: str) -> None:
        volume = self.model._volume()
        try:
            self.killed(lambda: trashback.restore(volume, id_), None, 0.004)
        finally:
            os.close(volume.root)
            os.close(volume.trash)

    def purge(self, id_: str, inode: int) -> None:
        volume = self.model._volume()
        self.model.allow([id_])
        try:
            self.killed(lambda: list(purge.purge(volume, {id_: inode}, 2, Pace(0))), None, 0.006)
        finally:
            os.close(volume.root)
            os.close(volume.trash)


def test_killed_while_writers_go_on(world: World, tmp_path: Path) -> None:
    model = Model(world.top, tmp_path)
    counted.clear()
    for number, family in enumerate(("hf", "megatron", "kohya", "orbax")):
        model.add(number, family)
    killing = Killing(model)
    for order in range(1, ROUNDS + 1):
        for run in model.runs:
            run.begin(order, killing.lot.random())
            while run.go_on(model.touch()):
                pass
            run.begin(order + 1, killing.lot.random())
        host = model.hosts[order % 2]
        wait(model)
        model.clean(host)
        wait(model)
        killing.pass_of(host)
        model.clean(host)
        entries = [entry for entry in model.entries() if entry.state == "kept"]
        for entry in entries[:2]:
            if killing.lot.random() < 0.3:
                killing.restore(entry.id)
            else:
                killing.purge(entry.id, entry.inode)
        model.clean(host)
        model.purge([], Watch())
    assert counted["moved"] > ROUNDS
    assert counted["really killed"] > ROUNDS / 2, counted
    assert counted["back"] > 0


def wait(model: Model) -> None:
    model.monotonic += 101.0
    model.ground.wall += 101 * 10**9
