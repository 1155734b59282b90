"""Every YAML file of the project is valid."""

import itertools
import json
from pathlib import Path

import jsonschema
import pytest

from tfattn import checks
from tfattn.config.build import build
from tfattn.config.read import read_yaml
from tfattn.config.resolve import resolve, resolve_section
from tfattn.config.show import json_schema, to_yaml

PROJECT = Path(__file__).resolve().parent.parent
PIPELINES = sorted((PROJECT / "pipelines").glob("*.yaml"))
PARTS = sorted((PROJECT / "configs").rglob("*.yaml"))


@pytest.fixture(scope="module")
def schema():
    return json.loads(json.dumps(json_schema()))


def names(paths):
    return [str(path.relative_to(PROJECT)) for path in paths]


@pytest.mark.parametrize("path", PIPELINES, ids=names(PIPELINES))
def test_resolved_pipelines_round_trip(path, tmp_path, schema, published_hub):
    config = resolve(path)
    written = tmp_path / "config.yaml"
    written.write_text(to_yaml(config))
    assert resolve(written).values == config.values
    jsonschema.validate(read_yaml(path).values, schema)


@pytest.mark.parametrize("task", ["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2_phrases", "stsb", "wnli"])
def test_tasks_of_glue_are_parts_of_a_pipeline(task, published_hub):
    overrides = [f"name=bert_{task}", f"data={{from: configs/data/{task}.yaml}}"]
    overrides += ["task.name=regression"] if task == "stsb" else []
    overrides += ["model.pretrained=hf://google-bert/bert-large-uncased"]
    config = resolve(PROJECT / "pipelines/glue_bert.yaml", overrides)
    checks.check(config)  # that the data, the model and the task fit
    assert config.values["model"]["pretrained"].startswith("hf://google-bert/bert-large-uncased@")


@pytest.mark.parametrize("path", PIPELINES, ids=names(PIPELINES))
def test_pipelines_start_with_purpose_command_time_and_score(path):
    head = path.read_text().split("\nname:")[0]
    assert f"tfattn run pipelines/{path.name}" in head
    assert "2 CPU cores:" in head
    assert "Expect" in head


@pytest.mark.parametrize("path", PARTS, ids=names(PARTS))
def test_parts_are_used_and_documented(path):
    name = str(path.relative_to(PROJECT))
    assert path.read_text().startswith("# ")
    assert isinstance(read_yaml(path).values, dict)
    if path.parent.name == "serving":
        assert resolve_section("serving", path).values["host"]
    elif path.parent.name == "prompts":
        assert build(resolve_section("prompt", path)).columns and f"tfattn prompt {name}" in path.read_text()
    elif path.parent.name == "comparisons":
        comparison = build(resolve_section("comparison", path))
        assert f"tfattn compare {name}" in path.read_text()
        for planned in itertools.islice(comparison, len(comparison.variants)):
            resolve(comparison.pipeline, planned.overrides)
    elif path.parent.name != "models":  # sizes to choose from need no pipeline of their own
        assert any(name in pipeline.read_text() for pipeline in PIPELINES)
