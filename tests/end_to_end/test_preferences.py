"""Preference optimization from a file of pairs to its report, and settings that are refused."""

import json
import shutil

import numpy as np
import pytest
import yaml

from tests.data.examples.conftest import TOKENS
from tfattn.preprocessing.byte_bpe import ByteBpe

PIPELINE = {
    "name": "preferences",
    "data": {
        "source": {"name": "jsonl", "path": "pairs.jsonl"},
        "preprocessing": {"name": "byte_bpe", "vocabulary": "vocabulary", "max_length": 40},
        "batching": {"batch_size": 8},
        "split": {"validation": 0.25},
    },
    "model": {"name": "gpt", "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16},
    "task": {"name": "preference_optimization"},
    "training": {
        "epochs": 4,
        "min_steps": None,
        "optimizer": {"name": "adamw", "learning_rate": 5e-3},
        "schedule": {"name": "constant"},
    },
    "runtime": {"precision": "float32"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("preferences")
    learning = ByteBpe(vocabulary_size=280, special_tokens=TOKENS)
    learning.fit([{"text": "user assistant thanks no user assistant"}])
    (folder / "vocabulary").mkdir()
    learning.save(folder / "vocabulary")
    rows = [{"prompt": f"pump {number}?", "chosen": "thanks", "rejected": "no"} for number in range(32)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    PIPELINE["data"]["source"]["fields"] = {name: name for name in rows[0]}
    PIPELINE["data"]["preprocessing"]["special_tokens"] = list(TOKENS)
    (folder / "pairs.yaml").write_text(yaml.safe_dump(PIPELINE))
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def evaluated(folder, command):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        answer = command("evaluate", "pairs.yaml")
    assert answer.status == 0, answer.errors
    return folder / "runs/preferences/latest"


def test_chosen_answers_get_higher_rewards(evaluated):
    metrics = json.loads((evaluated / "metrics.json").read_text())
    assert metrics["preference_accuracy"] == 1.0
    assert metrics["loss"] < metrics["baseline_loss"] == pytest.approx(np.log(2))
    assert metrics["reward_margin"] == pytest.approx(metrics["chosen_reward"] - metrics["rejected_reward"])
    assert "Greedy answers" in (evaluated / "report.html").read_text()


def test_the_reference_is_computed_once_for_each_record(evaluated, command, tmp_path):
    stored = sorted((evaluated / "precomputed").glob("*.npy"))
    assert [np.load(path).shape for path in stored] == [(24, 2), (8, 2)]
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in stored}
    shutil.rmtree(evaluated / "checkpoints")
    assert command("train", "pairs.yaml").status == 0
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in stored}
    stored[0].write_bytes(b"damaged")
    answer = command("train", "pairs.yaml")
    assert answer.status == 0 and "computed again, because of damage" in answer.errors
    assert stored[0].read_bytes() == before[stored[0]][1]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("data.source.fields={prompt: prompt, answer: chosen}", "a preference needs two answers"),
        ("task.beta=0", "task.beta: wrong value"),
        ("task.label_smoothing=0.5", "task.label_smoothing: wrong value"),
    ],
)
def test_bad_settings_have_one_message(command, option, message):
    answer = command("check", "--deep", "pairs.yaml", "--set", option)
    assert answer.status and message in answer.errors, answer.errors
