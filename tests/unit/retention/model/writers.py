"""Trainings of several frameworks, for the model: a save is a row of steps, and may break off."""

import json
from collections.abc import Callable, Iterator

from tests.unit.retention.made import safetensors_file, torch_file
from tests.unit.retention.model.ground import Ground

LIGHTNING = torch_file({"epoch": 0, "pytorch-lightning_version": "2.5.0"}, weights=10)
KOHYA = {name: safetensors_file({"ss_output_name": name, "ss_epoch": "3"}) for name in ("cat",)}
STATE = torch_file({}, weights=10)


class Unit:
    """A checkpoint. complete: all of it was written; looks_so: though half was removed since.

    touched: when it was last written to, in what the model counts.
    """

    def __init__(self, run: "Training", order: int, loss: float) -> None:
        self.run = run
        self.order = order
        self.loss = loss
        self.names: tuple[str, ...] = ()
        self.complete = self.looks_so = False
        self.touched = 0
        self.inodes: dict[str, int] = {}

    @property
    def paths(self) -> list[str]:
        """Of its names."""
        return [f"{self.run.path}/{name}" for name in self.names]

    def is_there(self) -> bool:
        """Whether all of it is at its place."""
        return bool(self.inodes) and all(self._there())

    def is_partly_there(self) -> bool:
        """Whether anything of it is at its place."""
        return any(self._there())

    def _there(self) -> Iterator[bool]:
        for name, inode in self.inodes.items():
            yield self.run.ground.inode(f"{self.run.path}/{name}") == inode


Save = Callable[["Training", Unit], Iterator[None]]


class Training:
    """One that writes to a run, and the units of it that were not removed by anybody but the agent.

    best: what the newest state calls so, by the order of the unit the state is in.
    """

    def __init__(self, ground: Ground, path: str, family: str) -> None:
        self.ground = ground
        self.path = path
        self.family = family
        self.units: list[Unit] = []
        self.saving: Iterator[None] | None = None
        self.unit: Unit | None = None
        self.skew = 0.0
        self.best: dict[int, str] = {}
        self.renamed = 0

    def begin(self, order: int, loss: float) -> None:
        """Begin to save, what was being saved stays as it is."""
        if any(unit.order == order for unit in self.units):
            return
        self.unit = Unit(self, order, loss)
        self.saving = FAMILIES[self.family](self, self.unit)

    def go_on(self, now: int) -> bool:
        """One more step of the save; False where it ended, or broke off."""
        if self.saving is None or self.unit is None:
            return False
        unit = self.unit
        unit.touched = now
        was_complete = unit.complete
        try:
            next(self.saving)
        except (StopIteration, FileNotFoundError, FileExistsError):
            self.stop()
        if unit.names and unit not in self.units:
            self.units.append(unit)
        unit.looks_so = unit.looks_so or (unit.complete and not was_complete)
        for name, path in zip(unit.names, unit.paths, strict=True):
            if name not in unit.inodes and (inode := self.ground.inode(path)):
                unit.inodes[name] = inode
        return self.saving is not None

    def stop(self) -> None:
        """Its writer is gone."""
        self.saving = self.unit = None

    def mkdir(self, name: str) -> None:
        self.ground.mkdir(f"{self.path}/{name}", self.skew)

    def write(self, name: str, data: bytes) -> None:
        self.ground.write(f"{self.path}/{name}", data, self.skew)


def _hf(run: Training, unit: Unit) -> Iterator[None]:
    name = f"checkpoint-{unit.order}"
    unit.names = (name,)
    run.mkdir(name)
    yield
    run.write(f"{name}/model.bin", b"w" * 64)
    yield
    data = _state(run, unit)
    run.write(f"{name}/trainer_state.json", data[:20])
    yield
    run.write(f"{name}/trainer_state.json", data)
    unit.complete = True


def _state(run: Training, unit: Unit) -> bytes:
    known = [each for each in run.units if each.complete and each.is_there()]
    best = min(known, key=lambda each: each.loss, default=None)
    run.best[unit.order] = best.names[0] if best else ""
    return json.dumps(
        {
            "global_step": unit.order,
            "best_model_checkpoint": f"/elsewhere/{best.names[0]}" if best else None,
            "log_history": [
                {"step": each.order, "eval_loss": each.loss} for each in [*run.units, unit]
            ],
        }
    ).encode()


def _hf_renamed(run: Training, unit: Unit) -> Iterator[None]:
    """As the versions did that renamed a checkpoint into place."""
    staging = f"tmp-checkpoint-{unit.order}"
    run.mkdir(staging)
    yield
    run.write(f"{staging}/model.bin", b"w" * 64)
    yield
    run.write(f"{staging}/trainer_state.json", _state(run, unit))
    yield
    run.ground.rename(f"{run.path}/{staging}", f"{run.path}/checkpoint-{unit.order}")
    unit.names = (f"checkpoint-{unit.order}",)
    unit.complete = True


def _kohya(run: Training, unit: Unit) -> Iterator[None]:
    model, state = f"cat-{unit.order:06}.safetensors", f"cat-{unit.order:06}-state"
    unit.names = (state, model)
    run.write(model, KOHYA["cat"][:-10])
    yield
    run.write(model, KOHYA["cat"])
    unit.complete = True
    yield
    run.mkdir(state)
    yield
    run.write(f"{state}/train_state.json", b'{"current_epoch": 1, "current_step": 3}')
    yield
    run.write(f"{state}/random_states_0.pkl", b"state")


def _megatron(run: Training, unit: Unit) -> Iterator[None]:
    name, tracker = f"iter_{unit.order:07}", "latest_checkpointed_iteration.txt"
    unit.names = (name,)
    run.mkdir(name)
    yield
    run.mkdir(f"{name}/mp_rank_00")
    yield
    run.write(f"{name}/mp_rank_00/model_optim_rng.pt", b"w" * 64)
    unit.complete = True  # all of it is there, which the tracker says of it, or a later one's
    yield
    run.write(tracker, b"")
    yield
    run.write(tracker, b"%d" % unit.order)


def _nemo(run: Training, unit: Unit) -> Iterator[None]:
    name = f"m--val_loss={unit.loss:.6f}-epoch=0-step={unit.order}"
    unit.names = (name,)
    run.write(f"{name}-unfinished", b"")
    yield
    run.mkdir(name)
    run.mkdir(f"{name}/context")
    run.write(f"{name}/context/io.json", b"{}")
    yield
    run.mkdir(f"{name}/weights")
    run.write(f"{name}/weights/metadata.json", b"{}")
    yield
    run.write(f"{name}/weights/__0_0.distcp", b"w" * 64)
    yield
    run.ground.remove(f"{run.path}/{name}-unfinished")
    unit.complete = True


def _orbax(run: Training, unit: Unit) -> Iterator[None]:
    staging = f"{unit.order}.orbax-checkpoint-tmp-17"
    run.mkdir(staging)
    run.write(f"{staging}/_CHECKPOINT_METADATA", b'{"init_timestamp_nsecs": 17}')
    yield
    run.write(f"{staging}/data", b"w" * 64)
    yield
    done = {
        "init_timestamp_nsecs": 17,
        "commit_timestamp_nsecs": 18,
        "metrics": {"eval_loss": unit.loss},
    }
    run.write(f"{staging}/_CHECKPOINT_METADATA", json.dumps(done).encode())
    yield
    run.ground.rename(f"{run.path}/{staging}", f"{run.path}/{unit.order}")
    unit.names = (str(unit.order),)
    unit.complete = True


def _lightning(run: Training, unit: Unit) -> Iterator[None]:
    name = f"epoch=0-step={unit.order}.ckpt"
    unit.names = (name,)
    run.write(name, LIGHTNING[:-40])
    yield
    run.write(name, LIGHTNING)
    unit.complete = True
    yield
    last = f"{run.path}/last.ckpt"
    if run.ground.is_there(last):
        run.ground.remove(last)
        yield
    run.ground.link(last, name)


FAMILIES: dict[str, Save] = {
    "hf": _hf,
    "hf, renamed": _hf_renamed,
    "kohya": _kohya,
    "lightning": _lightning,
    "megatron": _megatron,
    "nemo": _nemo,
    "orbax": _orbax,
}
