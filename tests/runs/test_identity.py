"""What a run is made of: every file and every plugin that can change a result changes the id that it stands under."""

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.runs.published import BERT
from tfattn import catalog, registry, stages
from tfattn.runs.identity import code_of, of_evaluation, of_export

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
    """The ids of a run and of its prepared data."""
    run = opened(parts, *overrides)
    return run.id, run.members[0].prepared.name


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    """A folder with rows, vocabularies, published weights and a package of plugins, entered."""
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
    """A model and a source of one's own, as --plugin registers them."""
    monkeypatch.setitem(catalog.CATALOGS["models"], "mine", "mine.models:Mine")
    monkeypatch.setitem(catalog.CATALOGS["sources"], "mine", "mine_too:Mine")


def test_the_same_files_are_the_same_run():
    assert ids(CLASSIFIER) == ids(CLASSIFIER)
    assert ids(TRANSLATOR) == ids(TRANSLATOR)


def test_what_prepares_data_and_where_is_no_part_of_them():
    assert ids(CLASSIFIER, "data.engine={name: local, processes: 1}", "data.work_folder=gs://bucket") == ids(CLASSIFIER)


def test_replaced_weights_are_another_run_on_the_same_data():
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
def test_a_published_vocabulary_that_has_changed_is_other_data(name, content):
    prepared = ids(CLASSIFIER)[1]
    write(f"published/{name}", content)
    assert ids(CLASSIFIER)[1] != prepared


@pytest.mark.parametrize("name", ["rows.csv", "one/words.model", "other/words.model"])
def test_files_of_one_name_are_told_apart(name):
    prepared = ids(TRANSLATOR)[1]
    append(name)
    assert ids(TRANSLATOR)[1] != prepared


def test_where_published_files_stand_is_no_part_of_their_fingerprints():
    shutil.copytree("published", "elsewhere/again")
    assert opened(CLASSIFIER).inputs == opened(CLASSIFIER, "model.pretrained=elsewhere/again").inputs


@pytest.mark.parametrize("changed", ["mine/models.py", "mine/layers.py"])
def test_code_of_a_model_that_has_changed_is_another_run_on_the_same_data(plugins, changed):
    run, prepared = ids(CLASSIFIER, "model.name=mine")
    append(changed)
    other_run, other_prepared = ids(CLASSIFIER, "model.name=mine")
    assert other_run != run and other_prepared == prepared


def test_code_of_a_source_that_has_changed_is_other_data(plugins):
    prepared = ids(CLASSIFIER, "data.source.name=mine")[1]
    append("mine_too.py")
    assert ids(CLASSIFIER, "data.source.name=mine")[1] != prepared


def test_code_that_the_configuration_does_not_name_decides_nothing(plugins):
    before = ids(CLASSIFIER)
    append("mine/models.py")
    append("mine_too.py")
    assert ids(CLASSIFIER) == before


def test_installed_plugins_are_known_by_version_and_code():
    write("mine-1.0.dist-info/entry_points.txt", "[tfattn.models]\nmine = mine.models:Mine\n")
    found = set()
    for version in ("1.0", "1.1"):
        write("mine-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: mine\nVersion: {version}\n")
        assert registry.origin("models", "mine") == ("mine.models", f"mine {version}")
        found.add(ids(CLASSIFIER, "model.name=mine")[0])
    append("mine/models.py")
    found.add(ids(CLASSIFIER, "model.name=mine")[0])
    assert len(found) == 3


def test_our_own_code_has_no_fingerprint():
    assert code_of("models", "bert") == code_of("report", "translation") == ""


def replace_part(monkeypatch, part, target):
    """Gives the task of the classifier another part."""
    kind = dataclasses.replace(registry.kind("classification"), **{part: target})
    monkeypatch.setitem(catalog.CATALOGS["tasks"], "classification", kind)


@pytest.mark.parametrize(("part", "evaluates"), [("report", True), ("served", False)])
def test_code_that_follows_training_changes_its_own_stage_and_those_after_it(monkeypatch, part, evaluates):
    config = opened(CLASSIFIER).config
    replace_part(monkeypatch, part, "mine_too:Mine")
    evaluation, exported = of_evaluation(config, ["weights"]), of_export(config, ["weights"])
    append("mine_too.py")
    assert (of_evaluation(config, ["weights"]) != evaluation) == evaluates
    assert of_export(config, ["weights"]) != exported


def test_targets_and_examples_of_another_kind_are_other_data(monkeypatch):
    write("mine_targets.py", "from tfattn.data.class_targets import Classes\n\nclass Mine(Classes):\n    pass\n")
    prepared = ids(CLASSIFIER)[1]
    replace_part(monkeypatch, "targets", "mine_targets:Mine")
    of_mine = ids(CLASSIFIER)[1]
    append("mine_targets.py")
    assert len({prepared, of_mine, ids(CLASSIFIER)[1]}) == 3
    sys.modules.pop("mine_targets", None)


def test_other_weights_are_evaluated_and_exported_anew():
    config = opened(CLASSIFIER).config
    assert of_evaluation(config, ["one"]) != of_evaluation(config, ["two"])
    assert of_export(config, ["one"]) != of_export(config, ["two"])
