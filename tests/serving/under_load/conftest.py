"""An export to put under load: what must hold is that no client notices new versions, restarts or the others.

Nothing is timed here; the figures that belong to it are those of `python -m benchmarks.serving`.
"""

import pytest

from benchmarks.serving.exports import Export, reports
from tfattn.export.serving_config import BATCHING, BATCHING_PARAMETERS


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder of models with batching parameters in it, as an export leaves one."""
    folder = tmp_path_factory.mktemp("served")
    (folder / BATCHING_PARAMETERS).write_text(BATCHING)
    return folder


@pytest.fixture(scope="session")
def model(models, folder):
    """The folder of a model that classifies texts."""
    return Export(models / "reports/10", folder).folder


@pytest.fixture(scope="session")
def texts():
    """What is asked."""
    return reports()
