"""Training runs: files, resuming and the end of a run."""

import json
import os
import shutil
import signal
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from tfattn.errors import CheckpointError, ConfigError, TrainingError
from tfattn.training import session as sessions
from tfattn.training.averages import ExponentialMovingAverage, LastEpochs
from tfattn.training.callbacks import EarlyStopping
from tfattn.training.checkpoints import Checkpoints, load_weights
from tfattn.training.interruption import Stopped
from tfattn.training.optimizers import AdamW
from tfattn.training.prediction import Evaluator, predict
from tfattn.training.runtime import Runtime
from tfattn.training.trainer import Trainer


@pytest.fixture(scope="module")
def train(tiny, data):
    """Return a function that trains a new task: `train(folder, rate=0.01)`."""

    def train(
        folder, *, kind="BagOfTokens", options=None, validate=True, fingerprint="", seed=7, rate=0.05, **settings
    ):
        keras.utils.set_random_seed(seed)
        task = getattr(tiny, kind)(**(options or {}))
        history = Trainer(**{"epochs": 2, "optimizer": AdamW(learning_rate=rate), **settings}).train(
            task,
            tiny.read(data, "train"),
            tiny.read(data, "validation") if validate else None,
            folder=folder,
            runtime=Runtime(precision="float32", strategy="one_device").start(),
            seed=seed,
            fingerprint=fingerprint,
        )
        return SimpleNamespace(task=task, history=history, folder=folder)

    return train


@pytest.fixture
def run(train, tmp_path):
    """Return a function that trains a new task in the test's folder."""
    return lambda folder="run", **settings: train(tmp_path / folder, **settings)


@pytest.fixture(scope="module")
def plain(train, tmp_path_factory):
    """A finished run of the default settings; only read."""
    return train(tmp_path_factory.mktemp("plain") / "run")


@pytest.fixture
def finished(plain, tmp_path):
    """The files of this run, in the test's folder."""
    shutil.copytree(plain.folder, tmp_path / "run")
    return plain


def lines(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def assert_same_tensors(left, right):
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert tensor.tobytes() == right[name].tobytes(), name


def test_a_run_learns_and_writes_its_history_and_curves(run, capsys):
    done = run(epochs=3)
    assert [line["epoch"] for line in done.history] == [1, 2, 3]
    assert [line["step"] for line in done.history] == [7, 14, 21]
    assert done.history[-1]["loss"] < done.history[0]["loss"]
    assert done.history[-1]["validation_accuracy"] > 0.9
    assert {"validation_loss", "learning_rate", "examples_per_second", "tokens_per_second", "seconds"} <= set(
        done.history[0]
    )
    assert {name for name in done.history[0] if name.startswith("gradient_norm/")} == {
        *("gradient_norm/embedding", "gradient_norm/unused", "gradient_norm/head"),
    }
    assert lines(done.folder) == done.history
    assert any((done.folder / "tensorboard").iterdir())
    assert "epoch 3/3: loss" in capsys.readouterr().err


def test_a_run_of_steps_ends_with_them_and_validates_when_asked(run, capsys):
    done = run(epochs=None, steps=17, validate_every=5)
    assert [(line["epoch"], line["step"]) for line in done.history] == [(1, 5), (2, 10), (3, 15), (3, 17)]
    assert all("validation_accuracy" in line for line in done.history)
    assert Checkpoints(done.folder / "checkpoints").newest().state["step"] == 17
    assert done.history[2]["learning_rate"] == pytest.approx(0.05 * (17 - 14) / (17 - 2), rel=1e-5)
    assert "step 17/17 (epoch 3): loss" in capsys.readouterr().err


def test_validations_within_epochs_change_nothing_of_the_training(run, plain, last_tensors):
    often = run("often", validate_every=3)
    assert [(line["epoch"], line["step"]) for line in often.history] == [(1, 3), (1, 6), (2, 9), (2, 12), (2, 14)]
    assert_same_tensors(last_tensors(plain.folder), last_tensors(often.folder))
    assert often.history[-1]["validation_loss"] == plain.history[-1]["validation_loss"]


def test_the_best_of_validations_within_epochs_is_kept(run, tiny, monkeypatch):
    scores = iter([0.1, 0.9, 0.5, 0.5, 0.5])
    monkeypatch.setattr(tiny.BagOfTokens, "metrics_from", lambda *_: {"accuracy": next(scores)})
    done = run(validate_every=3, early_stopping=EarlyStopping(patience=3))
    assert Checkpoints(done.folder / "checkpoints").best().state["step"] == 6
    assert len(done.history) == 5


def test_the_history_has_each_term(run, plain):
    for line in run(kind="TwoTerms", monitor="loss/norm").history:
        for prefix in ("", "validation_"):
            terms = line[f"{prefix}loss/label"] + line[f"{prefix}loss/norm"]
            assert line[f"{prefix}loss"] == pytest.approx(terms, rel=1e-6)
            assert line[f"{prefix}loss/label"] > line[f"{prefix}loss/norm"] > 0
    assert not [name for name in plain.history[0] if "loss/" in name]


def test_a_run_has_one_length():
    with pytest.raises(ConfigError, match="either epochs or steps, received both") as caught:
        Trainer(epochs=1, steps=10)
    assert caught.value.key == "steps"
    assert (Trainer().length, Trainer(steps=10).length) == ("epochs: 3", "steps: 10")


def test_a_finished_run_is_not_trained_again_but_gives_its_best_weights(run, finished):
    again = run()
    assert again.history == finished.history
    for left, right in zip(finished.task.weights, again.task.weights, strict=True):
        np.testing.assert_array_equal(np.array(left), np.array(right))


def test_the_best_weights_are_left_in_the_task(run, runtime, data, tiny, monkeypatch):
    scores = iter([0.1, 0.9, 0.5, 0.8, 0.0])
    monkeypatch.setattr(tiny.BagOfTokens, "metrics_from", lambda *_: {"accuracy": next(scores)})
    done = run(epochs=4)
    validation = tiny.read(data, "validation")
    loss = Evaluator(done.task, runtime)(validation)["loss"]
    assert loss == pytest.approx(done.history[1]["validation_loss"], rel=1e-6)
    assert loss != pytest.approx(done.history[3]["validation_loss"], rel=1e-3)
    predicted = predict(done.task, validation, runtime)
    assert len(predicted.values["label_ids"]) == len(predicted.targets["label_ids"]) == 23
    newest = Checkpoints(done.folder / "checkpoints").newest()
    assert newest.state["best"] == {"epoch": 2, "step": 14, "value": 0.9}


def test_of_equal_epochs_the_lowest_loss_is_best(run, tiny, monkeypatch, capsys):
    monkeypatch.setattr(tiny.BagOfTokens, "metrics_from", lambda *_: {"accuracy": 0.5})
    done = run(epochs=3, keep_checkpoints=1)
    losses = [line["validation_loss"] for line in done.history]
    assert losses == sorted(losses, reverse=True)
    assert Checkpoints(done.folder / "checkpoints").newest().state["best"] == {"epoch": 3, "step": 21, "value": 0.5}
    assert capsys.readouterr().err.count("· best") == 3


@pytest.mark.parametrize("averaging", [ExponentialMovingAverage(decay=0.9), LastEpochs(epochs=2)])
def test_averages_are_evaluated_kept_and_left_in_the_task(run, plain, runtime, data, tiny, averaging):
    done = run(epochs=2, averaging=averaging, monitor="loss")
    newest = Checkpoints(done.folder / "checkpoints").best()
    assert newest.holds("averages")
    loss = Evaluator(done.task, runtime)(tiny.read(data, "validation"))["loss"]
    assert loss == pytest.approx(min(line["validation_loss"] for line in done.history), rel=1e-6)
    other = tiny.BagOfTokens()
    load_weights(other, done.folder / "checkpoints")
    np.testing.assert_array_equal(np.array(other.head.kernel), np.array(done.task.head.kernel))
    assert plain.history[1]["validation_loss"] != done.history[1]["validation_loss"]
    assert plain.history[1]["loss"] == done.history[1]["loss"]


def test_training_ends_early_when_nothing_improves(run, capsys):
    done = run(epochs=30, early_stopping=EarlyStopping(patience=2), monitor="accuracy")
    best = [line["validation_accuracy"] for line in done.history].index(1.0)
    assert len(done.history) == best + 3
    assert f"training ends after epoch {best + 3}" in capsys.readouterr().err


def test_selection_last_epoch_keeps_the_last_weights(run, tiny, monkeypatch):
    scores = iter([0.9, 0.1])
    monkeypatch.setattr(tiny.BagOfTokens, "metrics_from", lambda *_: {"accuracy": next(scores)})
    done = run(selection="last_epoch")
    assert Checkpoints(done.folder / "checkpoints").best().folder.name == "step-00000014"


def test_without_validation_rows_the_last_epoch_is_the_best(run):
    done = run(validate=False)
    assert "validation_loss" not in done.history[0]
    assert Checkpoints(done.folder / "checkpoints").best().folder.name == "step-00000014"
    with pytest.raises(ConfigError, match="early stopping has nothing to monitor"):
        run("other", validate=False, early_stopping=EarlyStopping())


def test_an_unknown_metric_is_refused_before_the_first_epoch(run, tmp_path):
    with pytest.raises(ConfigError, match="no such metric: expected one of loss, accuracy, received acuracy") as caught:
        run(monitor="acuracy")
    assert caught.value.key == "monitor"
    assert not (tmp_path / "run" / "history.jsonl").exists()


def test_lower_layers_have_lower_rates(tiny, runtime):
    task = tiny.BagOfTokens()
    names = [variable.path for variable in task.trainable_weights]
    shares = dict(zip(names, Trainer(layer_decay=0.5).multipliers(task), strict=True))
    assert shares["head/kernel"] == 1
    assert shares["unused/bias"] == 0.5
    assert shares["embedding/embeddings"] == 0.25
    assert set(Trainer().multipliers(task)) == {1.0}


@pytest.mark.parametrize(
    ("number", "averaging"),
    [(signal.SIGTERM, ExponentialMovingAverage(decay=0.5)), (signal.SIGINT, LastEpochs(epochs=2))],
)
def test_a_run_stopped_by_a_signal_resumes_exactly(run, number, averaging, monkeypatch, last_tensors, capsys):
    options = {"dropout": 0.3}
    whole = run("whole", options=options, steps_per_loop=1, averaging=averaging)
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    call, calls = sessions.TrainingLoop.__call__, []

    def interrupted(*values, **named):
        calls.append(1)
        if len(calls) == 10:
            os.kill(os.getpid(), number)
        return call(*values, **named)

    with monkeypatch.context() as patched, pytest.raises(Stopped) as caught:
        patched.setattr(sessions.TrainingLoop, "__call__", interrupted)
        run("cut", options=options, steps_per_loop=1, averaging=averaging)
    assert caught.value.code == 128 + number
    assert "stopped on request at step 10" in capsys.readouterr().err
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == handlers
    rest = run("cut", options=options, steps_per_loop=3, averaging=averaging)
    assert "resumes at step 10 of 14" in capsys.readouterr().err
    assert_same_tensors(last_tensors(whole.folder), last_tensors(rest.folder))
    untimed = [{k: v for k, v in line.items() if "second" not in k} for line in whole.history]
    assert untimed == [{k: v for k, v in line.items() if "second" not in k} for line in rest.history]
    assert lines(rest.folder) == rest.history


def test_a_history_ahead_of_the_checkpoint_is_truncated(run, finished, tmp_path):
    with open(tmp_path / "run/history.jsonl", "a") as file:
        file.write('{"epoch": 3}\n')
    run()
    assert lines(tmp_path / "run") == finished.history


def test_a_checkpoint_of_other_data_or_of_another_seed_is_refused(run):
    run(fingerprint="a", epochs=None, steps=1, validate=False)
    with pytest.raises(CheckpointError, match="belongs to another run.*fingerprint 'b'.*fingerprint 'a'"):
        run(fingerprint="b", epochs=None, steps=1, validate=False)
    with pytest.raises(CheckpointError, match="seed 8.*seed 7"):
        run(fingerprint="a", seed=8, epochs=None, steps=1, validate=False)


def test_a_checkpoint_of_another_model_is_refused_and_named(run, finished, monkeypatch, tiny):
    monkeypatch.setattr(tiny, "TOKENS", 70)
    with pytest.raises(CheckpointError, match=r"embedding/embeddings \(60, 8\) for \(70, 8\)"):
        run()


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_batch(run, tmp_path, data, tiny, runtime):
    with pytest.raises(TrainingError) as caught:
        run(options={"poison": 7}, checkpoint_every=1)
    message = str(caught.value)
    assert "the loss is not finite" in message
    assert "(epoch 1, batch" in message
    assert "lower the learning rate" in message
    kept = np.load(tmp_path / "run" / "not_finite_batch.npz")
    assert (kept["token_ids"] == 7).any()
    rows = tiny.read(data, "train")
    batch = int(message.split("batch ")[1].split(")")[0]) - 1
    expected = next(iter(rows.dataset(0, start=batch)))
    np.testing.assert_array_equal(kept["record_ids"], expected["record_ids"])
    np.testing.assert_array_equal(kept["token_ids"], expected["token_ids"])


def test_gradients_that_are_not_finite_are_named(run):
    with pytest.raises(TrainingError, match=r"the gradients of .*head/kernel.* are not finite"):
        run(options={"huge": 1e37})
