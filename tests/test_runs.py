"""Runs: their ids and folders follow from what they are made of, and each model of several is a run of its own."""

import pytest

from tfattn import files
from tfattn.config.resolve import resolve
from tfattn.inputs import Inputs
from tfattn.runs import Run

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 4}
  split: {validation: 0.2}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: tabular_classification}
training: {epochs: 1, optimizer: {name: adamw, learning_rate: 1e-3}}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of the pipeline with these overrides; nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(PIPELINE)

    def of(*overrides, data=None, training=None):
        inputs = Inputs(data or {"source": "0"}, training or {})
        return Run(resolve(tmp_path / "tiny.yaml", list(overrides)), inputs=inputs, runtime=None)

    return of


def test_a_run_of_one_model_is_its_own_member(run):
    alone = run()
    assert alone.members == [alone]
    assert run("training.seed=3").members[0].training_seed == 3


def test_folds_and_seeds_are_runs_of_their_own(run):
    whole = run("training.folds=3", "training.seeds=2")
    members = whole.members
    assert len(members) == 6
    assert len({member.id for member in (whole, *members)}) == 7
    assert all(member.folder == whole.folder / "members" / member.id for member in members)
    splits = [member.config.values["data"]["split"] for member in members]
    assert [(split["folds"], split["fold"]) for split in splits] == [(3, 0), (3, 0), (3, 1), (3, 1), (3, 2), (3, 2)]
    assert [member.training_seed for member in members] == [7, 8] * 3
    assert {member.seed for member in members} == {7}


def test_seeds_share_the_data_of_their_fold(run):
    prepared = [member.prepared for member in run("training.folds=2", "training.seeds=2").members]
    assert prepared[0] == prepared[1] != prepared[2] == prepared[3]
    seeds = run("training.seeds=3")
    assert {member.prepared for member in seeds.members} == {seeds.prepared} == {run().prepared}


def test_a_member_is_a_valid_run_of_one(run, tmp_path):
    for member in run("training.folds=2", "training.seeds=2").members:
        assert member.members == [member]
        path = member.write_config()
        again = Run(resolve(path), inputs=member.inputs, runtime=None)
        assert again.members == [again]
        assert (again.id, again.prepared, again.training_seed) == (member.id, member.prepared, member.training_seed)
    assert not (tmp_path / "runs/tiny/latest").exists()


def test_the_configuration_of_the_whole_stays_as_it_was(run):
    whole = run("training.folds=2")
    before = whole.config.values["data"]["split"].copy()
    assert whole.members[1].config.values["data"]["split"]["fold"] == 1
    assert whole.config.values["data"]["split"] == before
    assert whole.config.values["training"]["folds"] == 2


def test_ids_follow_from_settings_and_content_alone(run):
    several = ("training.folds=2", "training.seeds=2")
    assert [member.id for member in run(*several).members] == [member.id for member in run(*several).members]
    assert run().id == run("export.version=3").id
    others = [
        run(),
        run(data={"source": "1"}),
        run(training={"pretrained": "1"}),
        run("seed=8"),
        run("training.seed=8"),
        run("training.epochs=2"),
        run("data.split.validation=0.3"),
        run("data.batching.batch_size=8"),
    ]
    assert len({other.id for other in others}) == len(others)
    assert len({other.prepared for other in others}) == 4  # content, seed and split make other data


@pytest.mark.parametrize(("seed", "training_seed"), [("null", 7), ("3", 3), ("0", 0)])
def test_any_seed_may_be_that_of_training(run, seed, training_seed):
    several = run(f"training.seed={seed}", "training.seeds=2")
    assert several.training_seed == training_seed and several.seed == 7
    assert [member.training_seed for member in several.members] == [training_seed, training_seed + 1]


@pytest.fixture
def trained(run):
    """A run of which `train` is done; it left a history."""
    done = run()
    with done.stage("train", leaves=("history.jsonl",)) as needed:
        assert needed
        files.write_text(done.folder / "history.jsonl", "{}\n")
    assert done.is_done("train") and run().is_done("train")
    return done


def test_a_stage_of_other_inputs_is_not_done(trained, run):
    assert not run().is_done("train", inputs="others")


@pytest.mark.parametrize("name", ["history.jsonl", "stages/train.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_a_stage_is_done_again_once_what_it_left_is_damaged(name, content, trained, run, capsys):
    path = trained.folder / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    again = run()
    assert not again.is_done("train")
    if content is not None or name == "history.jsonl":  # without its record it was never done
        assert f"train is done again, because of damage: {path}: " in capsys.readouterr().err
    with again.stage("train", leaves=("history.jsonl",)) as needed:
        assert needed
        files.write_text(trained.folder / "history.jsonl", "{}\n")
    assert run().is_done("train")


def test_a_damaged_configuration_of_a_run_is_written_again(trained, run, capsys):
    path = trained.folder / "config.yaml"
    whole = path.read_bytes()
    for damage in (b"", whole[:99], whole.replace(b"epochs: 1", b"epochs: 2")):
        path.write_bytes(damage)
        with run().stage("train") as needed:
            assert not needed
        assert path.read_bytes() == whole
        assert "config.yaml" in capsys.readouterr().err
