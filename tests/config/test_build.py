"""Building objects: parts that do not match are refused with their location."""

import pytest

from tfattn import catalog, registry
from tfattn.config.build import build
from tfattn.config.schema import Config
from tfattn.config.types import Size
from tfattn.errors import ConfigError
from tfattn.models.contracts.encoder import Encoder
from tfattn.models.gpt import Gpt

TEXT_MODEL = {
    "name": "bert",
    "hidden_dim": 8,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_dim": 8,
    "max_sequence_length": 8,
}
TABLE_MODEL = {"name": "feature_tokenizer_transformer", "hidden_dim": 8, "num_layers": 1, "num_heads": 2}
# Sizes from the preprocessing of texts and of tables.
TEXTS = {"vocabulary_size": 20}
TABLES = {"num_numeric": 3, "category_counts": [4], "num_bins": 2}


def config(model, task):
    origins = {("model",): "x.yaml:3:1", ("task",): "x.yaml:4:1"}
    return Config({"model": model, "task": {"name": task}}, origins)


@pytest.mark.parametrize(
    ("model", "task", "sizes"),
    [(TEXT_MODEL, "classification", TEXTS), (TABLE_MODEL, "classification", TABLES)],
)
def test_matching_parts_are_built(model, task, sizes):
    parts = config(model, task)
    built = build(parts, "task", model=build(parts, "model", **sizes), targets={"labels": None, "counts": [1] * 3})
    assert built.head.units == 3
    assert type(built.model).__name__.lower() == model["name"].replace("_", "")


@pytest.mark.parametrize(
    ("model", "sizes", "missing"),
    [(TEXT_MODEL, TABLES, "vocabulary_size"), (TABLE_MODEL, TEXTS, "num_numeric")],
)
def test_data_of_another_kind_of_model_are_refused(model, sizes, missing):
    with pytest.raises(ConfigError) as caught:
        build(config(model, "classification"), "model", **sizes)
    assert str(caught.value) == (
        f"x.yaml:3:1: model: the data do not define its `{missing}`: expected another part than {model['name']}, or "
        "other data. Texts and tables are for different models: see `data.preprocessing`."
    )


def test_a_task_refuses_a_model_of_another_class():
    parts = config(TABLE_MODEL, "token_classification")
    built = build(parts, "model", **TABLES)
    with pytest.raises(ConfigError) as caught:
        build(parts, "task", model=built, targets={"labels": None, "counts": [1] * 2})
    expected = "expected Encoder, received FeatureTokenizerTransformer"
    assert str(caught.value).startswith(f"x.yaml:4:1: task.model: the model does not fit: {expected}.")


def test_a_task_of_several_model_classes_names_them():
    parts = config({"name": "gpt"}, "classification")
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
    built = Gpt(vocabulary_size=9, **sizes)
    with pytest.raises(ConfigError, match="expected Encoder or TableEncoder or ImageEncoder, received Gpt"):
        build(parts, "task", model=built, targets={"labels": None, "counts": [1] * 2})


class Half(Encoder):
    """A model that implements half of its contract."""

    def __init__(self, *, vocabulary_size: Size[int]):
        super().__init__()
        self.hidden_dim = vocabulary_size


def test_missing_members_of_a_contract_are_named(monkeypatch):
    monkeypatch.setitem(catalog.CATALOGS["models"], "half", "somewhere:Half")
    monkeypatch.setattr(
        registry, "load", lambda target, listed_by="", load=registry.load: Half if "Half" in target else load(target)
    )
    parts = config({"name": "half"}, "classification")
    with pytest.raises(ConfigError) as caught:
        build(parts, "task", model=build(parts, "model", **TEXTS), targets={"labels": None, "counts": [1] * 2})
    assert str(caught.value) == (
        "x.yaml:4:1: task.model: the model does not implement its contract: expected all members of "
        "tfattn.models.contracts.encoder.Encoder, received Half without `max_sequence_length`, `pooler`, "
        "`depth_groups()`"
    )


def test_given_values_that_a_model_does_not_take_are_ignored():
    parts = config({"name": "feature_map_transformer"}, "classification")
    built = build(parts, "model", num_numeric=14, category_counts=[], num_bins=16)
    assert not hasattr(built, "num_bins")
