"""Ids: every file and plugin that can change a result changes the id."""

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.runs.published import BERT
from tfattn import catalog, registry, stages
from tfattn.runs.identity import code_fingerprint, evaluation_inputs, export_inputs

PARTS = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {text: words, label: kind, source: words, target: kind}}
  preprocessing: PREPROCESSING
  batching: {batch_size: 4}
  split: {validation: 0.2}
model: {MODEL, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 8}
task: {name: TASK}
training: {optimizer: {name: adamw, learning_rate: 1e-3}}
runtime: {precision: float32, strategy: one_device}
"""
CLASSIFIER = {
    "PREPROCESSING": "{name: wordpiece, vocabulary: pretrained, max_length: 16}",
    "MODEL": "name: bert, pretrained: published",
    "TASK": "classification",
}
TRANSLATOR = {
    "PREPROCESSING": "{name: sentencepiece, joint: false, vocabulary: one/words.model, "
    "target_vocabulary: other/words.model}",
    "MODEL": "name: transformer",
    "TASK": "translation",
}


def write(name, content):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content)


def append(name):
    with open(name, "a") as file:
        file.write("# changed\n")


def opened(parts, *overrides):
    text = PARTS
    for word, value in parts.items():
        text = text.replace(word, value)
    write("tiny.yaml", text)
    return stages.open_run(Path("tiny.yaml"), list(overrides))


def ids(parts, *overrides):
    """Return the ids of a run and of its prepared data."""
    run = opened(parts, *overrides)
    return run.id, run.members[0].prepared.name


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    """Enter a folder with rows, vocabularies, pretrained weights and a package of plugins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write("rows.csv", "words,kind\na b,c\n")
    write("one/words.model", "1")
    write("other/words.model", "2")
    write("published/config.json", json.dumps(BERT))
    write("published/vocab.txt", "[PAD]\n[UNK]\na\n")
    write("published/model.safetensors", "3")
    write("mine/__init__.py", "")
    write("mine/layers.py", "")
    write("mine/models.py", "from tfattn.models.bert import Bert\n\nclass Mine(Bert):\n    '''My own.'''\n")
    write("mine_too.py", "from tfattn.formats.csv_files import CsvFile\n\nclass Mine(CsvFile):\n    '''My own.'''\n")
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mine", "mine_too")]:
        del sys.modules[name]


@pytest.fixture
def plugins(monkeypatch):
    """Register a model and a source as --plugin does."""
    monkeypatch.setitem(catalog.CATALOGS["models"], "mine", "mine.models:Mine")
    monkeypatch.setitem(catalog.CATALOGS["sources"], "mine", "mine_too:Mine")


def test_the_same_files_give_the_same_ids():
    assert ids(CLASSIFIER) == ids(CLASSIFIER)
    assert ids(TRANSLATOR) == ids(TRANSLATOR)


def test_the_engine_and_work_folder_do_not_change_the_data_id():
    assert ids(CLASSIFIER, "data.engine={name: local, processes: 1}", "data.work_folder=gs://bucket") == ids(CLASSIFIER)


def test_other_weights_change_only_the_run_id():
    run, prepared = ids(CLASSIFIER)
    write("published/model.safetensors", "4")
    other_run, other_prepared = ids(CLASSIFIER)
    assert other_run != run and other_prepared == prepared


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vocab.txt", "[PAD]\n[UNK]\nb\n"),
        ("tokenizer_config.json", '{"do_lower_case": false}'),
        ("tokenizer_config.json", '{"strip_accents": false}'),
    ],
)
def test_a_changed_vocabulary_changes_the_data_id(name, content):
    prepared = ids(CLASSIFIER)[1]
    write(f"published/{name}", content)
    assert ids(CLASSIFIER)[1] != prepared


@pytest.mark.parametrize("name", ["rows.csv", "one/words.model", "other/words.model"])
def test_files_with_the_same_name_are_distinguished(name):
    prepared = ids(TRANSLATOR)[1]
    append(name)
    assert ids(TRANSLATOR)[1] != prepared


def test_the_path_of_pretrained_files_does_not_change_fingerprints():
    shutil.copytree("published", "elsewhere/again")
    assert opened(CLASSIFIER).fingerprints == opened(CLASSIFIER, "model.pretrained=elsewhere/again").fingerprints


@pytest.mark.parametrize("changed", ["mine/models.py", "mine/layers.py"])
def test_changed_code_of_a_model_changes_only_the_run_id(plugins, changed):
    run, prepared = ids(CLASSIFIER, "model.name=mine")
    append(changed)
    other_run, other_prepared = ids(CLASSIFIER, "model.name=mine")
    assert other_run != run and other_prepared == prepared


def test_changed_code_of_a_source_changes_the_data_id(plugins):
    prepared = ids(CLASSIFIER, "data.source.name=mine")[1]
    append("mine_too.py")
    assert ids(CLASSIFIER, "data.source.name=mine")[1] != prepared


def test_changed_code_of_one_of_several_sources_changes_the_data_id(plugins):
    own = "{name: mine, path: rows.csv, fields: {text: words, label: kind}}"
    several = f"data.source={{name: several, sources: {{own: {own}}}}}"
    prepared = ids(CLASSIFIER, several)[1]
    append("mine_too.py")
    assert ids(CLASSIFIER, several)[1] != prepared


def test_unused_plugins_do_not_change_ids(plugins):
    before = ids(CLASSIFIER)
    append("mine/models.py")
    append("mine_too.py")
    assert ids(CLASSIFIER) == before


def test_installed_plugins_are_identified_by_version_and_code():
    write("mine-1.0.dist-info/entry_points.txt", "[tfattn.models]\nmine = mine.models:Mine\n")
    found = set()
    for version in ("1.0", "1.1"):
        write("mine-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: mine\nVersion: {version}\n")
        assert registry.origin("models", "mine") == ("mine.models", f"mine {version}")
        found.add(ids(CLASSIFIER, "model.name=mine")[0])
    append("mine/models.py")
    found.add(ids(CLASSIFIER, "model.name=mine")[0])
    assert len(found) == 3


def test_code_of_this_package_has_no_fingerprint():
    assert code_fingerprint("models", "bert") == code_fingerprint("report", "translation") == ""


def replace_part(monkeypatch, part, target):
    """Replace a part of the classification task."""
    kind = dataclasses.replace(registry.kind("classification"), **{part: target})
    monkeypatch.setitem(catalog.CATALOGS["tasks"], "classification", kind)


@pytest.mark.parametrize(("part", "evaluates"), [("report", True), ("served", False)])
def test_code_of_later_stages_changes_their_inputs(monkeypatch, part, evaluates):
    config = opened(CLASSIFIER).config
    replace_part(monkeypatch, part, "mine_too:Mine")
    evaluation, exported = evaluation_inputs(config, ["weights"]), export_inputs(config, ["weights"])
    append("mine_too.py")
    assert (evaluation_inputs(config, ["weights"]) != evaluation) == evaluates
    assert export_inputs(config, ["weights"]) != exported


def test_other_targets_and_examples_change_the_data_id(monkeypatch):
    write(
        "mine_targets.py", "from tfattn.data.examples.class_targets import Classes\n\nclass Mine(Classes):\n    pass\n"
    )
    prepared = ids(CLASSIFIER)[1]
    replace_part(monkeypatch, "targets", "mine_targets:Mine")
    of_mine = ids(CLASSIFIER)[1]
    append("mine_targets.py")
    assert len({prepared, of_mine, ids(CLASSIFIER)[1]}) == 3
    sys.modules.pop("mine_targets", None)


def test_other_weights_change_the_inputs_of_evaluation_and_export():
    config = opened(CLASSIFIER).config
    assert evaluation_inputs(config, ["one"]) != evaluation_inputs(config, ["two"])
    assert export_inputs(config, ["one"]) != export_inputs(config, ["two"])
