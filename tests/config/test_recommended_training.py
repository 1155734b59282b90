"""The recommended training of models: the values of keys that a pipeline does not set."""

import pytest

from tfattn import registry
from tfattn.config.recommended_training import RECOMMENDATIONS
from tfattn.config.resolve import resolve
from tfattn.config.schema import keys_of

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age]}
  batching: {batch_size: 4}
model: {name: feature_tokenizer_transformer}
task: {name: classification}
"""
ORIGIN = "recommended for feature_tokenizer_transformer, from scratch"


@pytest.fixture
def training(tmp_path):
    """Return a function that resolves a pipeline with overrides, and returns its training and the origins."""
    (tmp_path / "tiny.yaml").write_text(PIPELINE)

    def resolved(*overrides):
        config = resolve(tmp_path / "tiny.yaml", list(overrides))
        return config.values["training"], config.origins

    return resolved


def test_a_silent_pipeline_has_the_recommended_training_and_its_origin(training):
    values, origins = training()
    assert values["optimizer"]["learning_rate"] == 1e-3 and values["min_steps"] > 0 and values["averaging"]
    assert origins["training", "optimizer"] == origins["training", "epochs"] == ORIGIN


def test_a_learning_rate_alone_changes_the_recommended_optimizer(training):
    values, origins = training("training.optimizer.learning_rate=3e-3")
    assert values["optimizer"]["name"] == "adamw" and values["optimizer"]["learning_rate"] == 3e-3
    assert origins["training", "optimizer", "learning_rate"] == "--set training.optimizer.learning_rate"
    assert origins["training", "optimizer", "weight_decay"] == ORIGIN
    assert training()[0]["optimizer"]["learning_rate"] == 1e-3, "the recommendation itself has changed"


def test_a_part_with_a_name_has_its_own_defaults(training):
    values, _ = training("training.optimizer={name: adamw, learning_rate: 3e-3}", "training.averaging=null")
    assert values["optimizer"]["weight_decay"] == 0.01 and values["averaging"] is None
    assert training("training.schedule={name: linear}")[0]["schedule"]["warmup"] == 0.1


@pytest.mark.parametrize("length", ["epochs=2", "steps=7"])
def test_a_length_replaces_the_recommended_length(training, length):
    values, _ = training(f"training.{length}")
    name, _, number = length.partition("=")
    given = {key: values[key] for key in ("epochs", "steps", "min_steps") if values[key] is not None}
    assert given == {name: int(number)} and values["averaging"]


@pytest.mark.parametrize("found", RECOMMENDATIONS, ids=lambda found: f"{found.start} {found.models} {found.tasks}")
def test_recommendations_name_existing_models_and_keys(found):
    assert set(found.models) <= set(registry.names("models")) and set(found.tasks) <= set(registry.names("tasks"))
    assert set(found.training) <= set(keys_of("sections", "training"))
    for key, kind in (("optimizer", "optimizers"), ("schedule", "schedules"), ("averaging", "averages")):
        part = found.training.get(key)
        assert part is None or set(part) <= {"name", *keys_of(kind, part["name"])}


def test_every_model_has_a_recommendation_for_every_start():
    for start in ("from scratch", "pretrained", "frozen encoder"):
        assert all(
            any(found.fits(name, "any", start) for found in RECOMMENDATIONS) for name in registry.names("models")
        )
