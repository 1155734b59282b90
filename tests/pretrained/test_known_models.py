"""The table of published models that were tried, and its listing."""

import pytest

from tfattn import catalog, hub
from tfattn.pretrained.known_models import KNOWN_MODELS


def test_all_packages_and_only_addresses_are_listed():
    names = {name for name in KNOWN_MODELS if not hub.is_address(name)}
    assert names == set(catalog.PRETRAINED_PACKAGES)
    assert all(str(hub.parse(name)) == name for name in KNOWN_MODELS if hub.is_address(name))


def test_presets_are_those_of_keras_hub():
    keras_hub = pytest.importorskip("keras_hub")
    presets = keras_hub.models.Backbone.presets
    for name, known in KNOWN_MODELS.items():
        if name.startswith("keras://"):
            parameters = presets[name.removeprefix("keras://")]["metadata"]["params"]
            assert known.parameters == pytest.approx(parameters / 1e6, rel=0.01)
            assert known.megabytes == pytest.approx(parameters * 4 / 1e6, rel=0.03)


def test_the_table_is_listed_before_the_formats(command):
    answer = command("list", "pretrained")
    table, formats = answer.output.split("\n\n")
    assert table.splitlines()[0].split()[:2] == ["model", "architecture"]
    assert [line.split()[0] for line in table.splitlines()[1:]] == list(KNOWN_MODELS)
    assert [line.split()[0] for line in formats.splitlines()[1:]] == sorted(catalog.CATALOGS["pretrained"])


def test_a_model_is_described(command):
    answer = command("list", "pretrained", "hf://google-bert/bert-base-chinese")
    assert answer.output.splitlines()[1:3] == ["weights       412 MB", "license       Apache-2.0"]
    assert "these weights were not downloaded" in answer.output
