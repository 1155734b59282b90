"""Fixtures that every room uses."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public data beside the project; tests that read it are skipped where it is absent."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the public data sets, expected in {folder.name}/ of ../shared beside the project")
    return folder
