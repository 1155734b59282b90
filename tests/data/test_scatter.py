"""Records are made in runs of bounded size, and are the same however large those are."""

from tests.data.small_parts import prepared, write
from tfattn.data import scatter
from tfattn.data.local_engine import Local


def test_runs_of_any_size_give_the_same_files(tmp_path, monkeypatch):
    write(tmp_path)
    whole = prepared(tmp_path, "whole", Local(processes=1))
    monkeypatch.setattr(scatter, "RUN_BYTES", 200)
    monkeypatch.setattr(scatter, "MAX_BATCH_EXAMPLES", 3)
    assert prepared(tmp_path, "runs", Local(processes=1)) == whole
