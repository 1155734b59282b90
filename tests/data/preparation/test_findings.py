"""Findings of a summary: possible problems of texts, rows and columns."""

import pytest

from tfattn.data.preparation.findings import findings, sentences

NONE = {"rows": 0, "first": []}
SOME = {"rows": 2, "first": ["a.csv:3", "a.csv:9"]}
CLEAN = {
    "made_of": "texts",
    "rows": {"train": 80, "validation": 20},
    "missing": {"label": NONE},
    "left_out": NONE,
    "truncated": {"train": NONE, "validation": NONE},
    "duplicates": NONE,
    "conflicts": NONE,
    "crossing": {"validation": NONE},
    "unknown": {},
    "unknown_remedy": "Learn more of them.",
}


@pytest.mark.parametrize(
    ("made_of", "said"),
    [
        ("texts", "No value is missing, no text occurs twice, and none is longer than the limit."),
        ("columns", "No row lacks its label, and none occurs twice."),
    ],
)
def test_clean_data_are_reported_as_clean(made_of, said):
    assert findings(CLEAN | {"made_of": made_of}) == {}
    assert sentences(CLEAN | {"made_of": made_of}) == [said]


def test_a_target_that_many_rows_lack_is_one_sentence():
    few, many = SOME | {"rows": 10}, SOME | {"rows": 100}
    assert sentences(CLEAN | {"missing": {"label": few}}) == []
    assert sentences(CLEAN | {"missing": {"label": many}}) == [
        "100 of 200 rows (50.0%) have no `label` and are left out, such as a.csv:3. If an empty value has a meaning, "
        "write it out in the file."
    ]


@pytest.mark.parametrize(
    ("made_of", "words"),
    [
        (
            "texts",
            [
                "validation text that is also a training row's",
                "same text, different labels",
                "text that repeats an earlier row's",
            ],
        ),
        (
            "columns",
            [
                "validation row that is also a training row",
                "same values, different labels",
                "row that repeats an earlier row",
            ],
        ),
    ],
)
def test_repeated_texts_and_rows_are_distinguished(made_of, words):
    found = {"made_of": made_of, "crossing": {"validation": SOME}, "conflicts": SOME, "duplicates": SOME}
    assert findings(CLEAN | found) == dict.fromkeys(words, SOME)
    assert sentences(CLEAN | found) == []


def test_excluded_and_cut_rows_are_reported():
    found = {"missing": {"label": SOME}, "left_out": SOME, "truncated": {"train": NONE, "validation": SOME}}
    assert list(findings(CLEAN | found)) == [
        "validation text cut at the limit",
        "left out: too long to be trained on",
        "left out: no label",
    ]


def share(fraction, *values):
    return {"fraction": fraction, "most_frequent": dict.fromkeys(values, 1)}


@pytest.mark.parametrize(("made_of", "what"), [("texts", "tokens"), ("columns", "values")])
def test_more_than_a_twentieth_unknown_is_reported_with_the_remedy(made_of, what):
    unknown = {
        "kind": {"train": share(0.0), "validation": share(0.051, "泵", "漏")},
        "place": {"train": share(0.01, "x"), "validation": share(0.05, "y")},
    }
    said = sentences(CLEAN | {"made_of": made_of, "duplicates": SOME, "unknown": unknown})
    assert said == [
        f"Unknown {what} of `kind`: 0.0% in train, 5.1% in validation; most frequently 泵, 漏. "
        "What they say is lost on the model. Learn more of them."
    ]
