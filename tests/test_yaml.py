"""Every YAML file of the project, found by walking the folders, is right."""

import itertools
import json
from pathlib import Path

import jsonschema
import pytest

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
def test_a_pipeline_resolves_and_reads_back_as_the_same(path, tmp_path, schema):
    config = resolve(path)
    written = tmp_path / "config.yaml"
    written.write_text(to_yaml(config))
    assert resolve(written).values == config.values
    jsonschema.validate(read_yaml(path).values, schema)


@pytest.mark.parametrize("path", PIPELINES, ids=names(PIPELINES))
def test_a_pipeline_opens_with_purpose_command_time_and_expected_score(path):
    head = path.read_text().split("\nname:")[0]
    assert f"tfattn run pipelines/{path.name}" in head
    assert "2 CPU cores:" in head
    assert "Expect" in head


@pytest.mark.parametrize("path", PARTS, ids=names(PARTS))
def test_a_part_is_used_and_says_what_it_is(path):
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
            resolve(PROJECT / comparison.pipeline, planned.overrides)
    elif path.parent.name != "models":  # sizes to choose from need no pipeline of their own
        assert any(name in pipeline.read_text() for pipeline in PIPELINES)
