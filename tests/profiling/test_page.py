"""The page of a profile: all values are shown as they are, as text."""

import json

from tests.evaluation.test_report import Page
from tests.profiling.conftest import clean_table, clean_texts
from tfattn.evaluation.report import render
from tfattn.profiling.page import report_of

HOSTILE = "<script>alert(1)</script>'\"&{{ 7 * 7 }}"


def test_hostile_columns_and_values_are_text(profiled):
    rows = [row | {HOSTILE: f"<img src=x>{number % 3}"} for number, row in enumerate(clean_table(200))]
    rows[4]["panel"] = "\x1b[31m<b>"
    rows += [row | {"label": "<i>rare\nclass</i>"} for row in rows[:2]]
    preprocessing = {"name": "table", "numeric": ["age", "load"], "categorical": ["region", "panel", HOSTILE]}
    found = profiled(rows, preprocessing=preprocessing)
    page = Page(render(report_of(found)))
    assert not {"script", "img", "b", "i"} & {tag for tag, _ in page.tags}
    assert HOSTILE in page.text and "<img src=x>" in page.text and "<i>rare class</i>" in page.text
    assert all(str(finding).isprintable() and "\n" not in str(finding) for finding in found.findings)
    json.dumps(found.to_dict())


def test_texts_have_lengths_and_pairs(profiled):
    rows = clean_texts()
    page = Page(render(report_of(profiled([*rows, rows[0] | {"text": rows[0]["text"] + " so"}]))))
    for title in (
        "Findings",
        "Rows",
        "Inputs",
        "Lengths of the texts",
        "Near duplicates",
        "Drift of the validation rows",
    ):
        assert title in page.text
    assert "rows.csv:402 is like rows.csv:2" in page.text or "rows.csv:2 is like rows.csv:402" in page.text


def test_clean_rows_are_said_to_be_clean(profiled):
    page = Page(render(report_of(profiled(clean_table()))))
    assert "0 findings" in page.text and "Nothing was found." in page.text
