"""A card is read completely or not at all."""

import json

import pytest

from tfattn import files
from tfattn.serving.page import card

CARD = {
    "exported": "2026-01-02T03:04:05+00:00",
    "inputs": {"age": {"kind": "number", "column": "Age", "may_be_missing": True, "low": 1.0, "high": 99}},
    "examples": [{"age": None}, {"age": 3}],
    "entries": {"scores": ["no", "yes"]},
    "metrics": {"accuracy": 0.5},
    "measured_on": "test",
}


@pytest.fixture
def read(tmp_path):
    def read(value):
        files.write_text(tmp_path / card.FILE, value if isinstance(value, str) else json.dumps(value))
        return card.read(tmp_path)

    return read


def test_known_keys_are_kept_and_unknown_keys_are_ignored(read):
    found = json.loads(read({**CARD, "colour": "red"}).model_dump_json())
    assert found["inputs"]["age"].items() >= CARD["inputs"]["age"].items()
    assert found["examples"] == CARD["examples"] and found["entries"] == CARD["entries"]
    assert "colour" not in found


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        '{"model": "from elsewhere"}',
        {**CARD, "entries": {"scores": "no, yes"}},
        {**CARD, "inputs": {"age": {"kind": "picture", "column": "Age"}}},
        json.dumps(CARD).replace("0.5", "NaN"),
        {**CARD, "measured_on": "x" * card.MAX_BYTES},
    ],
)
def test_a_damaged_card_is_ignored(read, broken):
    assert read(broken) is None


def test_a_version_without_a_card_has_none(tmp_path):
    assert card.read(tmp_path) is None
