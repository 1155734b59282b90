"""Keys and names of older pipeline files keep working, and each is noted."""

import pytest

from tfattn import registry
from tfattn.config.moved import MOVED_KEYS, MOVED_NAMES
from tfattn.config.resolve import resolve, resolve_section
from tfattn.errors import ConfigProblems

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {text: words, label: kind}}
  preprocessing: {name: wordpiece, vocabulary: train, max_length: 8}
  batching: {batch_size: 4}
model: {name: bert, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 8}
task: {name: text_classification}
training: {seeds: 3}
"""


@pytest.fixture
def resolved(tmp_path):
    """Return a function that resolves the pipeline with overrides."""
    (tmp_path / "tiny.yaml").write_text(PIPELINE)
    return lambda *overrides: resolve(tmp_path / "tiny.yaml", list(overrides))


def test_old_keys_and_names_are_replaced_and_noted(resolved, capsys):
    config = resolved("data.labels=[a, b]")
    notes = " ".join(capsys.readouterr().err.split())
    assert config.values["task"]["name"] == "classification"
    assert config.values["ensemble"]["seeds"] == 3 and "seeds" not in config.values["training"]
    assert config.values["data"]["targets"]["labels"] == ["a", "b"]
    assert config.origins["ensemble", "seeds"].endswith("tiny.yaml:8:12")
    assert "tiny.yaml:8:12: training.seeds: the key is now `ensemble.seeds`" in notes
    assert "--set data.labels: data.labels: the key is now `data.targets.labels`" in notes
    assert "tiny.yaml:7:8: task.name: `text_classification` is now `classification`" in notes


def test_a_key_that_is_no_longer_needed_is_removed_and_noted(resolved, capsys):
    config = resolved("data.examples.messages=true")
    assert config.values["data"]["examples"] == {}
    notes = " ".join(capsys.readouterr().err.split())
    assert "data.examples.messages: the key is no longer needed: the roles of the source are" in notes


def test_the_same_key_under_both_names_is_refused(resolved):
    with pytest.raises(ConfigProblems, match="given twice. Keep `ensemble.seeds`, the current name"):
        resolved("ensemble.seeds=2")


def test_new_names_exist_and_old_ones_do_not():
    for names in MOVED_NAMES.values():
        assert not names.keys() & set(registry.names("tasks")) and set(names.values()) <= set(registry.names("tasks"))
    assert not MOVED_KEYS.keys() & set(MOVED_KEYS.values())


def test_the_old_key_of_a_single_section_is_replaced(tmp_path, capsys):
    (tmp_path / "recipe.yaml").write_text('template: "{text}"\nmax_new_tokens: 5\n')
    assert resolve_section("prompt", tmp_path / "recipe.yaml").values["max_tokens"] == 5
    assert "recipe.yaml:2:1: max_new_tokens: the key is now `max_tokens`" in " ".join(capsys.readouterr().err.split())
