"""Tests of the units of preparation and of samples of rows."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tfattn.data.preparation.units import systematic_sample


@given(count=some.integers(0, 300), limit=some.integers(1, 50))
def test_a_sample_is_systematic_sample_and_within_its_limit(count, limit):
    chosen = systematic_sample(range(count), limit)
    assert len(chosen) <= limit
    assert len(chosen) == count or len(chosen) >= limit // 2
    assert len({after - before for before, after in itertools.pairwise(chosen)}) <= 1
    assert chosen[:1] == list(range(count))[:1]


@pytest.mark.parametrize("parts", [1, 40])
def test_a_sample_has_rows_of_the_whole_file(project, command, monkeypatch, parts):
    size = (project / "reports.csv").stat().st_size
    monkeypatch.setattr("tfattn.formats.parts.PART_BYTES", size // parts + 1)
    assert command("prepare", "tiny.yaml", "--set", "data.max_rows=60").status == 0
    (manifest,) = project.glob("runs/tiny/prepared/*/manifest.json")
    rows = sum(split["rows"] for split in json.loads(manifest.read_text())["splits"].values())
    assert 30 <= rows <= 60 + parts
