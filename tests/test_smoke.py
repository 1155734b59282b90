"""Tests of `tfattn run --smoke`: every pipeline of the project runs up to a served answer."""

import contextlib
import re

import pytest

from tests.conftest import PROJECT, tfattn
from tests.end_to_end import pipeline_data

SAMPLES = {"factory_reports": "csv", "pn_flag": "tsv", "reversal": "tsv"}


def test_a_smoke_test_ends_with_a_served_answer_and_leaves_no_files(project, command):
    before = sorted(project.rglob("*"))
    answer = command("run", "tiny.yaml", "--smoke", "--set", "training.epochs=3")
    assert answer.status == 0, answer.errors
    assert re.search(r'served answer: \{"label": "[A-Z]', answer.errors)
    assert "smoke test passed in" in answer.errors
    assert sorted(project.rglob("*")) == before


def test_a_smoke_test_fails_where_a_stage_fails(project, command):
    answer = command("run", "tiny.yaml", "--smoke", "--set", "data.source.fields.label=Categories")
    assert answer.status == 1
    assert "Categories" in answer.errors


@pytest.fixture(scope="module")
def workspace(once, shared):
    """A folder with the pipelines of the project and the data that they read."""

    def make(folder):
        for name in ("configs", "pipelines"):
            (folder / name).symlink_to(PROJECT / name)
        pipeline_data.write(folder / "data", shared)
        for name, ending in SAMPLES.items():
            assert tfattn("sample", name, folder / f"data/{name}.{ending}").status == 0

    return once("smoke", make)


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", sorted(path.stem for path in (PROJECT / "pipelines").glob("*.yaml")))
def test_every_pipeline_passes_the_smoke_test(workspace, command, pipeline, published_hub):
    with contextlib.chdir(workspace):
        answer = command("run", f"pipelines/{pipeline}.yaml", "--smoke")
    assert answer.status == 0, answer.errors[-2000:]
    assert float(re.search(r"smoke test passed in (\d+) s", answer.errors)[1]) < 60
