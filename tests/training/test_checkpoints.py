"""Checkpoints: complete, verified, and of the right run."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from tfattn import files
from tfattn.errors import CheckpointError
from tfattn.training.checkpoints import Checkpoints, load_weights
from tfattn.training.variables import frozen, trained


@pytest.fixture
def variable():
    return tf.Variable([[1.0, 2.0]])


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path / "checkpoints", keep=2, writes=True)


def save(checkpoints, variable, step, *, best=None):
    variable.assign([[float(step), 0.0]])
    checkpoints.save(step, {"weights": {"a/b": variable}}, {"step": step, "best": best and {"step": best}})


def steps(checkpoints):
    return sorted(int(path.name.removeprefix("step-")) for path in checkpoints.folder.glob("step-*"))


def damage(checkpoints, step):
    path = checkpoints.folder / f"step-{step:08d}" / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def test_checkpoints_restore_tensors_exactly(checkpoints, variable):
    value = np.array([[0.1, np.float32(1e-40)]], np.float32)
    variable.assign(value)
    checkpoints.save(3, {"weights": {"a/b": variable}}, {"step": 3, "best": None})
    variable.assign([[0.0, 0.0]])
    newest = checkpoints.newest()
    newest.restore("weights", {"a/b": variable})
    assert newest.state == {"step": 3, "best": None}
    assert variable.numpy().tobytes() == value.tobytes()


def test_the_newest_and_the_best_are_kept(checkpoints, variable):
    for step, best in ((1, 1), (2, 2), (3, 2), (4, 2), (5, 2)):
        save(checkpoints, variable, step, best=best)
    assert steps(checkpoints) == [2, 4, 5]
    assert checkpoints.best().folder.name == "step-00000002"
    save(checkpoints, variable, 6, best=6)
    assert steps(checkpoints) == [2, 5, 6], "step 5 still says that 2 is the best"
    save(checkpoints, variable, 7, best=6)
    assert steps(checkpoints) == [6, 7]


def test_a_damaged_newest_checkpoint_is_noted_and_skipped(checkpoints, variable, capsys):
    save(checkpoints, variable, 1)
    save(checkpoints, variable, 2)
    damage(checkpoints, 2)
    assert checkpoints.newest().state["step"] == 1
    assert "skipped a damaged checkpoint" in capsys.readouterr().err


def test_damage_to_all_checkpoints_is_an_error(checkpoints, variable):
    save(checkpoints, variable, 1)
    damage(checkpoints, 1)
    with pytest.raises(CheckpointError, match=r"no checkpoint can be read.*step-00000001.*Delete the folder"):
        checkpoints.newest()


def test_old_checkpoints_stay_if_the_new_one_cannot_be_verified(checkpoints, variable, monkeypatch):
    save(checkpoints, variable, 1)
    save(checkpoints, variable, 2)

    def fail(folder):
        raise OSError("a broken disk")

    monkeypatch.setattr(files, "verify", fail)
    with pytest.raises(OSError, match="broken disk"):
        save(checkpoints, variable, 3)
    assert {1, 2} <= set(steps(checkpoints))


def test_a_worker_that_does_not_write_writes_nothing(tmp_path, variable):
    helper = Checkpoints(tmp_path / "checkpoints")
    save(helper, variable, 1)
    helper.save_frozen({"a": variable})
    assert not helper.folder.exists()
    assert helper.newest() is None


def test_leftovers_of_a_killed_process_are_removed(checkpoints, variable):
    left = checkpoints.folder / ".step-00000001.abc.unfinished"
    left.mkdir(parents=True)
    checkpoints.save_frozen({})
    assert not left.exists()


def test_best_and_frozen_weights_are_loaded_into_a_task(tiny, runtime, checkpoints):
    task, other = tiny.BagOfTokens(), tiny.BagOfTokens()
    for each in (task, other):
        each.embedding.trainable = False
    checkpoints.save_frozen(frozen(task))
    checkpoints.save(1, {"weights": trained(task)}, {"step": 1, "best": None})
    load_weights(other, checkpoints.folder)
    for left, right in zip(task.weights, other.weights, strict=True):
        np.testing.assert_array_equal(np.array(left), np.array(right))


def test_loading_missing_or_damaged_checkpoints_is_an_error(tiny, runtime, checkpoints):
    task = tiny.BagOfTokens()
    with pytest.raises(CheckpointError, match="there is no checkpoint.*Train first"):
        load_weights(task, checkpoints.folder)
    task.embedding.trainable = False
    checkpoints.save_frozen(frozen(task))
    checkpoints.save(1, {"weights": trained(task)}, {"step": 1, "best": None})
    shutil.rmtree(checkpoints.folder / "frozen")
    with pytest.raises(CheckpointError, match="frozen.*the checkpoint is damaged"):
        load_weights(task, checkpoints.folder)
