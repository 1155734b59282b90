"""Pipelines of the parts of cars.py."""

import textwrap

import pytest

from tfattn import catalog, registry


@pytest.fixture
def car(tmp_path, monkeypatch):
    """Writes a pipeline of those parts; returns its path. Other files can stand beside it."""
    cars = "tests.config.cars"
    monkeypatch.setitem(catalog.CATALOGS, "motors", {"engine": f"{cars}:Engine", "motor": f"{cars}:Motor"})
    monkeypatch.setattr(registry, "SECTIONS", {"pipeline": f"{cars}:Car", "wheels": f"{cars}:Wheels"})

    def write(text, name="car.yaml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    monkeypatch.chdir(tmp_path)
    return write
