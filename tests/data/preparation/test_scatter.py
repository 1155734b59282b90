"""Scattering: runs of bounded memory, and records that do not depend on the size of runs."""

from tests.data.small_parts import prepared, write
from tfattn.data.engines.local_engine import Local
from tfattn.data.preparation import scatter


def test_runs_of_any_size_give_the_same_files(tmp_path, monkeypatch):
    write(tmp_path)
    whole = prepared(tmp_path, "whole", Local(processes=1))
    monkeypatch.setattr(scatter, "RUN_BYTES", 200)
    monkeypatch.setattr(scatter, "MAX_BATCH_EXAMPLES", 3)
    assert prepared(tmp_path, "runs", Local(processes=1)) == whole
