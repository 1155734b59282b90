"""The kind of a column follows from its values."""

import pytest

from tfattn.recipes.columns import detect_column, detect_language, out_of_range, words_of_name

NUMBERS = range(60)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("age", [str(number % 40) for number in NUMBERS], "number"),
        ("price", [f"{number}.5" for number in NUMBERS], "number"),
        ("total", [" " if number % 9 else f"{number}.5" for number in NUMBERS], "number"),
        ("total", ["unknown" if number % 9 == 0 else f"{number}.5" for number in NUMBERS], "number"),
        ("senior", [str(number % 2) for number in NUMBERS], "category"),
        ("job", [f"job {number % 7}" for number in NUMBERS], "category"),
        ("customerID", [f"{number:04}-XY" for number in NUMBERS], "identifier"),
        ("row", [str(number + 1) for number in NUMBERS], "identifier"),
        ("id", [str(number * 37 % 1009) for number in NUMBERS], "identifier"),
        ("day", [f"2024-01-{number % 28 + 1:02}" for number in NUMBERS], "date"),
        ("day", [f"{number % 28 + 1}.1.2024" for number in NUMBERS], "date"),
        ("text", [f"the pump number {number} leaks" for number in NUMBERS], "text"),
        ("标题", [f"中国经济增长第{number}季度情况" for number in NUMBERS], "text"),
        ("name", [f"Person{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in NUMBERS], "names"),
        ("same", ["x" for _ in NUMBERS], "constant"),
        ("rare", ["y" if number == 5 else "x" for number in NUMBERS], "constant"),
        ("empty", ["" for _ in NUMBERS], "constant"),
        ("preis", [f"{number},50" for number in NUMBERS], "names"),
        ("chat", [[{"role": "user", "content": "Hi"}] for _ in NUMBERS], "messages"),
        ("labels", [["a", "b"] for _ in NUMBERS], "list"),
    ],
)
def test_kinds(name, values, kind):
    column = detect_column(name, values)
    assert column.kind == kind
    assert column.reason


def test_missing_values_are_counted_and_their_markers_collected():
    values = ["unknown" if number % 9 == 0 else "N/A" if number % 9 == 1 else str(number) for number in NUMBERS]
    column = detect_column("age", values)
    assert column.num_missing == 14
    assert set(column.markers) == {"unknown", "N/A"}


def test_numbers_outside_of_float32_are_found():
    assert out_of_range(detect_column("a", ["1e300", *map(str, NUMBERS)])) == ["1e300"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Items are stuck in the scanner", "English"),
        ("Sorter blows fuses", "English"),
        ("Das Gerät ist nicht mehr an", "other"),
        ("La bomba es de los que pierden agua", "other"),
        ("中国经济增长", "Chinese"),
        ("スキャナーが動かない", "Chinese"),
    ],
)
def test_language(text, language):
    assert detect_language([text]) == language


def test_words_of_names():
    assert words_of_name("relatedness_score") == {"relatedness", "score"}
    assert words_of_name("isChurned 2") == {"is", "churned"}
