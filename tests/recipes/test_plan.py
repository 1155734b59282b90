"""Pipeline files of plans are YAML with the values of the plan and a comment for each reason."""

import pytest

from tfattn.config.read import parse_yaml
from tfattn.recipes.plan import Plan

VALUES = {
    "name": "mine",
    "model": {"name": "bert", "rate": 1e-4, "labels": ["a, b", "c: d", "#x", "yes", "null", "标题", "{e}"]},
    "data": {
        "source": {"path": "x y.csv", "fields": {"Größe (m)": "1", "k": 1}},
        "numeric": [f"column{n}" for n in range(40)],
    },
    "task": {"name": "classification"},
}


def test_a_file_has_the_values_and_the_reasons():
    plan = Plan("Classify texts.", "rows.csv: 9 rows", VALUES, {"data.source.path": "your file", "task": "Two values."})
    text = plan.text("mine.yaml")
    assert parse_yaml(text, "").values == VALUES
    assert "    # Your file\n    path: x y.csv\n" in text
    assert "# Two values.\ntask: {name: classification}\n" in text
    assert text.startswith("# Classify texts.\n#   tfattn run mine.yaml\n# 2 CPU cores: about a minute")
    assert list(parse_yaml(text, "").values) == ["name", "data", "model", "task"]


def test_time_is_rounded():
    assert Plan("", "", {}, seconds=70).time == "about a minute"
    assert Plan("", "", {}, seconds=250).time == "about 4 minutes"
    assert Plan("", "", {}, seconds=9000).time == "about 2 hours"


@pytest.mark.parametrize(("epoch_seconds", "epochs"), [(0.1, None), (100, 3), (1000, 1)])
def test_training_takes_the_recommended_epochs_or_what_fits(epoch_seconds, epochs):
    plan = Plan(
        "",
        "",
        {
            "name": "mine",
            "model": {"from": "package://configs/models/modern_bert_tiny.yaml"},
            "task": {"name": "classification"},
        },
    )
    plan.add_training(num_rows=160, epoch_seconds=epoch_seconds, epoch_steps=10, fixed_seconds=30)
    assert plan.values["training"].get("epochs") == epochs
    assert ("100 are recommended" in plan.text("mine.yaml")) is (epochs is not None)  # 1,000 steps
    assert plan.seconds == 30 + epoch_seconds * (epochs or 100)


def test_an_epoch_of_hours_reads_only_some_of_the_rows():
    values = {"data": {}, "model": {"name": "modern_bert"}, "task": {"name": "classification"}}
    plan = Plan("Predict.", "rows", values)
    plan.add_training(num_rows=80_000_000, epoch_seconds=200_000, epoch_steps=1e6, fixed_seconds=30)
    assert plan.values["data"]["max_rows"] == 120_000 and plan.seconds == pytest.approx(330)
    assert "an epoch over all rows takes about 56 hours" in plan.text("mine.yaml").lower()
