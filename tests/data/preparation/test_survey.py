"""The survey: equal rows are found by their normalized texts."""

from tfattn.data.preparation.survey import SHOWN_ROWS, Occurrences, normalized
from tfattn.formats.source import Row


def test_texts_are_compared_without_case_width_and_spaces():
    one, other = (Row({"text_a": a, "text_b": "b"}, "x:1") for a in ("  Ｐump\tLEAKS", "pump leaks"))
    assert normalized(one, ["text_a", "text_b"]) == normalized(other, ["text_a", "text_b"])
    moved = Row({"text_a": "pump", "text_b": "leaks b"}, "x:1")
    assert normalized(moved, ["text_a", "text_b"]) != normalized(other, ["text_a", "text_b"])


def test_locations_of_parts_are_the_first_of_the_whole():
    parts = [Occurrences(), Occurrences(), Occurrences()]
    for line in range(9):
        parts[line // 4].add(f"x.csv:{line}")
    assert Occurrences.merge([vars(part) for part in parts]) == {
        "rows": 9,
        "first": [f"x.csv:{line}" for line in range(SHOWN_ROWS)],
    }
