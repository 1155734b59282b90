"""Runs: ids and folders depend on settings and inputs; each member of an ensemble has its own."""

import pytest

from tfattn.config.resolve import resolve
from tfattn.errors import ConfigError
from tfattn.runs.identity import Fingerprints
from tfattn.runs.run import Run
from tfattn.training.runtime import Runtime

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 4}
  split: {validation: 0.2}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
training: {epochs: 1, optimizer: {name: adamw, learning_rate: 1e-3}}
"""
FINGERPRINTS = Fingerprints({"source": "0"}, {})


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that makes a run of the pipeline with overrides; it writes nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(PIPELINE)

    def of(*overrides, data=None, training=None):
        fingerprints = Fingerprints(data or FINGERPRINTS.data, training or FINGERPRINTS.training)
        return Run(resolve(tmp_path / "tiny.yaml", list(overrides)), fingerprints=fingerprints, runtime=Runtime())

    return of


@pytest.mark.parametrize("ensemble", ["null", "{}", "{seeds: 1}"])
def test_a_single_model_is_trained_in_the_folder_of_the_run(run, ensemble):
    alone = run(f"ensemble={ensemble}")
    (member,) = alone.members
    assert (member.folder, member.id, member.stage_log) == (alone.folder, alone.id, alone.stage_log)
    assert alone.id == run().id
    assert run("training.seed=3").members[0].training_seed == 3


def test_each_member_has_its_own_folder(run):
    whole = run("ensemble.folds=3", "ensemble.seeds=2")
    members = whole.members
    assert len(members) == 6
    assert len({member.id for member in (whole, *members)}) == 7
    assert all(member.folder == whole.folder / "members" / member.id for member in members)
    splits = [member.config.values["data"]["split"] for member in members]
    assert [(split["folds"], split["fold"]) for split in splits] == [(3, 0), (3, 0), (3, 1), (3, 1), (3, 2), (3, 2)]
    assert [member.training_seed for member in members] == [7, 8] * 3
    assert {member.seed for member in members} == {7}


def test_seeds_share_the_data_of_their_fold(run):
    prepared = [member.prepared for member in run("ensemble.folds=2", "ensemble.seeds=2").members]
    assert prepared[0] == prepared[1] != prepared[2] == prepared[3]
    seeds = run("ensemble.seeds=3")
    assert {member.prepared for member in seeds.members} == {run().members[0].prepared}
    assert seeds.datasets == [seeds.members[-1]] and len(run("ensemble={folds: 2, seeds: 2}").datasets) == 2


def test_a_member_has_the_same_id_if_it_is_run_alone(run, tmp_path):
    for member in run("ensemble.folds=2", "ensemble.seeds=2").members:
        alone = Run(resolve(member.stage_log.write_config()), fingerprints=FINGERPRINTS, runtime=Runtime())
        (again,) = alone.members
        assert (again.id, again.prepared, again.training_seed) == (member.id, member.prepared, member.training_seed)
    assert not (tmp_path / "runs/tiny/latest").exists()


def test_the_configuration_of_the_run_is_not_changed(run):
    whole = run("ensemble.folds=2")
    before = whole.config.values["data"]["split"].copy()
    assert whole.members[1].config.values["data"]["split"]["fold"] == 1
    assert whole.config.values["data"]["split"] == before
    assert whole.config.values["ensemble"]["folds"] == 2


def test_ids_depend_only_on_settings_and_content(run):
    several = ("ensemble.folds=2", "ensemble.seeds=2")
    assert [member.id for member in run(*several).members] == [member.id for member in run(*several).members]
    assert run().id == run("export.version=3").id
    others = [
        run(),
        run(data={"source": "1"}),
        run(training={"pretrained": "1"}),
        run("seed=8"),
        run("training.seed=8"),
        run("ensemble.seeds=2"),
        run("ensemble.folds=2"),
        run("runtime.precision=float32"),
        run("training.epochs=2"),
        run("data.split.validation=0.3"),
        run("data.batching.batch_size=8"),
    ]
    assert len({other.id for other in others}) == len(others)
    assert len({other.members[0].prepared for other in others}) == 5  # content, seed and split make other data


@pytest.mark.parametrize(("seed", "training_seed"), [("null", 7), ("3", 3), ("0", 0)])
def test_training_seed_is_configurable(run, seed, training_seed):
    several = run(f"training.seed={seed}", "ensemble.seeds=2")
    assert [member.seed for member in several.members] == [7, 7]
    assert [member.training_seed for member in several.members] == [training_seed, training_seed + 1]


def test_latest_links_to_the_run_whose_stage_started_last(run, tmp_path):
    for one in (run(), run("seed=8"), run()):
        with one.stage_log.stage("train", force=True):
            pass
        assert (tmp_path / "runs/tiny/latest").resolve() == (tmp_path / one.folder)


def test_a_folder_with_the_name_of_the_link_is_refused(run, tmp_path):
    (tmp_path / "runs/tiny/latest").mkdir(parents=True)
    with pytest.raises(ConfigError, match="runs/tiny/latest: a folder has the name of the link to the newest run"):
        run()
