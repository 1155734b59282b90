"""Spans of an answer are highlighted in the input text."""

import json

TEXT = "\U0001f600 Ann saw <b>Rome</b>."
TAGGED = {
    "entities": ["Ann", "Rome", ""],
    "labels": ["PER", "<i>LOC</i>", ""],
    "start": [2, 13, 0],
    "end": [5, 17, 0],
    "score": [0.75, 0.5, 0.0],
    "length": 2,
    "truncated": False,
}
MARKS = "[...document.querySelectorAll('#marks mark')].map((one) => [one.firstChild.data, one.title])"


def shown(page, row: dict, **texts: str) -> list[list[str]]:
    """Show an answer and return the marked texts with their titles."""
    known = json.dumps({"text": "", "milliseconds": 1, "texts": texts})
    page.run(f"import('./answer.js').then(({{ showAnswer }}) => showAnswer({json.dumps(row)}, [], null, {known}))")
    return page.run(MARKS)


def test_entities_are_marked_where_they_stand(page):
    assert shown(page, TAGGED, text=TEXT) == [["Ann", "PER 0.750"], ["Rome", "<i>LOC</i> 0.500"]]
    assert page.run("document.querySelector('#marks').textContent") == "\U0001f600 Ann PER saw <b>Rome <i>LOC</i></b>."
    assert page.text("#label") == "2 entities"
    hues = page.run("[...document.querySelectorAll('mark')].map((one) => one.style.getPropertyValue('--hue'))")
    assert len(set(hues)) == 2 and page.run("document.querySelectorAll('#marks :is(b, i)').length") == 0
    assert page.run("document.querySelector('#outputs').hidden"), "nothing is said twice"
    assert shown(page, TAGGED | {"length": 0}, text=TEXT) == []
    assert page.text("#label") == "No entities"


def test_the_answer_is_marked_in_the_context(page):
    row = {"answer": "Rome", "start": 13, "end": 17, "score": 0.5, "truncated": False}
    assert shown(page, row, question="Where is <b>Rome?", context=TEXT) == [["Rome", "0.500"]]
    assert page.text("#label") == "Rome"
    assert shown(page, {**row, "answer": "", "start": 0, "end": 0}, question="Who?", context=TEXT) == []
    assert page.text("#label") == "No answer" and page.run("document.querySelector('#marks').textContent") == TEXT


def test_another_answer_has_no_marks(page):
    assert shown(page, TAGGED, text=TEXT) and not shown(page, {"label": "x"}, text=TEXT)
    assert page.run("document.querySelector('#marks').childElementCount") == 0
