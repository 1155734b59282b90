"""All YAML in the documents is valid: files, and parts of pipelines."""

import json
from pathlib import Path

import pytest

from tests.documents.blocks import PROJECT, Block, blocks, joined
from tfattn.checks import check
from tfattn.config.build import build
from tfattn.config.read import parse_yaml, read_yaml
from tfattn.config.resolve import resolve, resolve_section
from tfattn.config.schema import Config

YAML = blocks("yaml")
COMMANDS = [words for block in blocks("sh") for words in block.commands]


@pytest.mark.parametrize("block", YAML, ids=[block.place for block in YAML])
def test_yaml_is_a_project_file_or_valid(block, folder, monkeypatch):
    monkeypatch.chdir(folder)
    if block.path is None:
        assert block.text in [path.read_text() for path in (PROJECT / "pipelines").glob("*.yaml")]
    elif block.is_part:
        assert check(_with_part(block, folder))
    elif block.path.parts[:2] == ("configs", "serving"):
        assert resolve_section("serving", block.path)
    elif block.path.parts[:2] == ("configs", "comparisons"):
        comparison = build(resolve_section("comparison", block.path))
        assert all(resolve(comparison.pipeline, planned.overrides) for planned in comparison)
    elif block.path.parts[:2] == ("configs", "prompts"):
        assert build(resolve_section("prompt", block.path)).columns
    elif not any("--plugin" in words and str(block.path) in words for words in COMMANDS):  # such commands are run
        assert check(resolve(block.path))


def _with_part(block: Block, folder: Path) -> Config:
    """Lay a part over the pipeline that it is a part of."""
    whole = joined(read_yaml(block.path).values, parse_yaml(block.text, block.place).values)
    path = folder / "pipelines" / "with_part.yaml"
    path.write_text(json.dumps(whole), encoding="utf-8")
    return resolve(path)
