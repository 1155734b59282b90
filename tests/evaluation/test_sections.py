from tfattn.evaluation import sections
from tfattn.evaluation.report import Table, Text

SUMMARY = {
    "rows": {"train": 8, "validation": 2},
    "classes": {"Leak": {"train": 5, "validation": 1}, "Other": {"train": 3, "validation": 1}},
    "tokens": {"train": {"shortest": 3, "longest": 9}, "validation": {"shortest": 4, "longest": 5}},
    "missing": {"text": {"rows": 0, "first": []}},
    "truncated": {"train": {"rows": 0, "first": []}},
    "duplicates": {"rows": 0, "first": []},
    "conflicts": {"rows": 0, "first": []},
    "crossing": {"validation": {"rows": 0, "first": []}},
}


def test_training_counts_epochs_and_time():
    lines = [{"epoch": epoch, "step": 24 * epoch, "loss": 1 / epoch, "seconds": 50.2} for epoch in (1, 2)]
    words, _, figures = sections.training(lines).parts
    assert "2 times in 1 min 40 s" in words.text
    assert list(figures.columns) == ["epoch", "step", "loss", "seconds"]


def test_data_shows_rows_by_label_and_says_when_all_is_well():
    rows, tokens, words = sections.data(SUMMARY, thing="text").parts
    assert rows.rows == [["Leak", 5, 1], ["Other", 3, 1], ["all", 8, 2]]
    assert tokens.rows == [["train", 3, 9], ["validation", 4, 5]]
    assert isinstance(words, Text)


def test_data_names_what_is_worth_a_look():
    crossing = {"validation": {"rows": 2, "first": ["a.csv:3", "a.csv:9"]}}
    found = sections.data({**SUMMARY, "crossing": crossing}, thing="row").parts[-1]
    assert isinstance(found, Table)
    assert found.rows == [["validation row that stands among the training rows too", 2, "a.csv:3, a.csv:9"]]


def test_data_without_classes_or_tokens():
    [rows, _] = sections.data({"rows": {"train": 8}}, thing="row").parts
    assert rows.columns == ["rows", "train"] and rows.rows == [["all", 8]]
