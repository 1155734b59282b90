"""Fixtures: pipelines of the classes of cars.py."""

import textwrap

import pytest

from tfattn import catalog, registry


@pytest.fixture
def car(tmp_path, monkeypatch):
    """Return a function that writes a pipeline, or another file in its folder, and returns the path."""
    cars = "tests.config.cars"
    monkeypatch.setitem(catalog.CATALOGS, "motors", {"engine": f"{cars}:Engine", "motor": f"{cars}:Motor"})
    monkeypatch.setattr(registry, "SECTIONS", {"pipeline": f"{cars}:Car", "wheels": f"{cars}:Wheels"})

    def write(text, name="car.yaml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    monkeypatch.chdir(tmp_path)
    return write
