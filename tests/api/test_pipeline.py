"""Pipelines that are built in code are checked like files, and complete their keys."""

import inspect

import pytest

from tfattn import Pipeline, parts
from tfattn.config.resolve import resolve
from tfattn.errors import ConfigProblems

SECTIONS = {
    "name": "reports",
    "data": {
        "source": parts.sources.csv(path="reports.csv", fields={"text": "Description", "label": "Category"}),
        "preprocessing": parts.preprocessors.wordpiece(vocabulary="train", vocabulary_size=400, max_length=24),
        "batching": parts.batching(batch_size=16),
    },
    "model": parts.models.bert(hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=8, max_sequence_length=24),
    "task": parts.tasks.classification(),
}


def test_a_pipeline_has_the_values_of_its_file(tmp_path):
    pipeline = Pipeline(
        **SECTIONS, training=parts.training(epochs=3, optimizer=parts.optimizers.adamw(learning_rate=1e-3))
    )
    assert pipeline.config.at("training", "epochs") == 3
    pipeline.save(tmp_path / "reports.yaml")
    assert resolve(tmp_path / "reports.yaml").values == pipeline.config.values
    read = Pipeline.read(tmp_path / "reports.yaml", training={"epochs": 5})
    assert read.config.at("training", "epochs") == 5
    assert read.config.at("training", "optimizer") == pipeline.config.at("training", "optimizer")
    assert "epochs: 3" in pipeline._repr_html_() and "name='reports'" in repr(pipeline)


def test_all_errors_are_reported_with_the_nearest_keys():
    with pytest.raises(ConfigProblems) as caught:
        Pipeline(**SECTIONS | {"task": {"name": "clasification"}, "trainning": {}, "seed": "one"})
    text = str(caught.value)
    assert "pipeline: trainning: unknown key. Did you mean `training`?" in text
    assert "Did you mean `classification`?" in text and "pipeline: seed: wrong value" in text


def test_a_value_that_no_file_can_hold_is_refused():
    with pytest.raises(Exception, match="pipeline: model.hidden_dim: not a value.*received object"):
        Pipeline(**SECTIONS | {"model": {"name": "bert", "hidden_dim": object()}})


def test_names_keys_and_explanations_complete():
    assert {"models", "training", "sources"} <= set(dir(parts)) and "bert" in dir(parts.models)
    keys = inspect.signature(parts.models.bert).parameters
    assert keys["dropout"].default == 0.1 and "pretrained" in keys and "in_file" not in keys
    assert "hidden_dim" in parts.models.bert.__doc__ and parts.models.bert.__name__ == "bert"
    assert {"name", "data", "model"} <= set(inspect.signature(Pipeline).parameters)
    assert "training" in repr(parts.tasks) or "classification" in repr(parts.tasks)
    for name in ("modles", "modle"):
        with pytest.raises(AttributeError, match="`models`"):
            getattr(parts, name)
    with pytest.raises(AttributeError, match="Did you mean `bert`"):
        parts.models.brt  # noqa: B018
