from tfattn.evaluation import sections
from tfattn.evaluation.report import Table, Text

SUMMARY = {
    "made_of": "texts",
    "rows": {"train": 8, "validation": 2},
    "classes": {"Leak": {"train": 5, "validation": 1}, "Other": {"train": 3, "validation": 1}},
    "tokens": {"train": {"shortest": 3, "longest": 9}, "validation": {"shortest": 4, "longest": 5}},
    "missing": {"text": {"rows": 0, "first": []}},
    "left_out": {"rows": 0, "first": []},
    "truncated": {"train": {"rows": 0, "first": []}},
    "duplicates": {"rows": 0, "first": []},
    "conflicts": {"rows": 0, "first": []},
    "crossing": {"validation": {"rows": 0, "first": []}},
    "unknown": {},
    "unknown_remedy": "",
}


def test_training_counts_epochs_and_time():
    lines = [{"epoch": epoch, "step": 24 * epoch, "loss": 1 / epoch, "seconds": 50.2} for epoch in (1, 2)]
    words, _, figures = sections.training(lines, selection="last_epoch").parts
    assert "48 steps through 2 epochs in 1 min 40 s" in words.text
    assert "The weights of the last epoch are kept" in words.text
    assert list(figures.columns) == ["epoch", "step", "loss", "seconds"]


def test_data_shows_rows_by_label_and_the_absence_of_problems():
    rows, tokens, words = sections.data(SUMMARY).parts
    assert rows.rows == [["Leak", 5, 1], ["Other", 3, 1], ["all", 8, 2]]
    assert tokens.rows == [["train", 3, 9], ["validation", 4, 5]]
    assert isinstance(words, Text)


def test_data_lists_possible_problems():
    crossing = {"validation": {"rows": 2, "first": ["a.csv:3", "a.csv:9"]}}
    found = sections.data({**SUMMARY, "crossing": crossing}).parts[-1]
    assert isinstance(found, Table)
    assert found.rows == [["validation text that is also a training row's", 2, "a.csv:3, a.csv:9"]]


def test_configuration_names_the_training_environment_if_known():
    assert len(sections.configuration("name: tiny", "").parts) == 2
    assert "8 cores" in sections.configuration("name: tiny", "a processor, 8 cores").parts[0].text


def test_data_reports_unknown_values():
    unknown = {"text": {"train": {"fraction": 0.6, "most_frequent": {"泵": 3, "漏": 1}}}}
    *_, clean, said = sections.data({**SUMMARY, "unknown": unknown, "unknown_remedy": "Learn it."}).parts
    assert said.text == (
        "Unknown tokens of `text`: 60.0% in train; most frequently 泵, 漏. What they say is lost on the model. "
        "Learn it."
    )
    assert clean.text.startswith("No value is missing")


def test_data_without_classes_or_tokens():
    plain = {name: found for name, found in SUMMARY.items() if name != "tokens"} | {"rows": {"train": 8}, "classes": {}}
    [rows, _] = sections.data(plain).parts
    assert rows.columns == ["rows", "train"] and rows.rows == [["all", 8]]
