"""Pre-training examples are independent of the engine."""

import pytest

from tests.data.small_documents import MAKE, prepared, write
from tfattn.data.engines.beam_engine import Beam
from tfattn.data.engines.local_engine import Local


@pytest.mark.parametrize("kind", MAKE)
def test_beam_prepares_the_same_files(tmp_path, kind):
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed: pip install 'tfattn[beam]'")
    write(tmp_path)
    assert prepared(tmp_path, "local", kind, Local(processes=1)) == prepared(tmp_path, "beam", kind, Beam())


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKE)
def test_two_processes_prepare_the_same_files(tmp_path, kind):
    write(tmp_path)
    one, two = (prepared(tmp_path, f"{count}", kind, Local(processes=count)) for count in (1, 2))
    assert one == two
