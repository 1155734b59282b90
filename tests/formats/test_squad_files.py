"""SQuAD files of versions 1.1 and 2.0, and errors."""

import copy
import json

import pytest

from tfattn.errors import DataError
from tfattn.formats.squad_files import SquadFile

FILE = {
    "version": "v2.0",
    "data": [
        {
            "title": "Rome",
            "paragraphs": [
                {
                    "context": "Rome is old.",
                    "qas": [
                        {"id": "a", "question": "What is old?", "answers": [{"text": "Rome", "answer_start": 0}]},
                        {
                            "id": "b",
                            "question": "Who?",
                            "is_impossible": True,
                            "answers": [],
                            "plausible_answers": [{"text": "Rome", "answer_start": 0}],
                        },
                    ],
                }
            ],
        },
        {"paragraphs": [{"context": "", "qas": [{"id": 3, "question": "é?", "answers": []}]}]},
    ],
}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "train.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return SquadFile(path=str(path))

    return write


def test_a_row_is_a_question(write, tmp_path):
    source = write(b"\xef\xbb\xbf" + json.dumps(FILE).encode())
    rows = list(source.rows())
    assert [row.where for row in rows] == [f"{tmp_path}/train.json:{number}" for number in (1, 2, 3)]
    assert rows[0].fields == {
        "question": "What is old?",
        "context": "Rome is old.",
        "answers": [{"text": "Rome", "start": 0}],
        "title": "Rome",
        "id": "a",
    }
    assert [row.fields["answers"] for row in rows[1:]] == [[], []]
    assert (rows[2].fields["title"], rows[2].fields["id"]) == ("", "3")
    assert set(source.fields) == set(rows[0].fields)
    (part,) = source.parts()
    assert list(source.rows(part)) == rows


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["data"], None, "there is no list of objects under `data`"),
        (
            ["data", 0, "paragraphs"],
            [3],
            r"json: data\[0\]: there is no list of objects under `paragraphs`.*received \[3",
        ),
        (
            ["data", 0, "paragraphs", 0, "context"],
            5,
            r"data\[0\]: paragraphs\[0\]: `context` is not a text.*received 5",
        ),
        (["data", 0, "paragraphs", 0, "qas", 0, "question"], None, r"qas\[0\]: `question` is not a text"),
        (
            ["data", 0, "paragraphs", 0, "qas", 0, "answers", 0, "answer_start"],
            "3",
            r"answers\[0\]: `answer_start` is not an integer: expected an offset in the context, received \"3\"",
        ),
        (["data"], [], "the file holds no questions"),
        (["data", 0, "paragraphs", 0, "context"], "\ud800", "`context` has half of a surrogate pair"),
    ],
)
def test_invalid_rows_are_located(write, path, value, message):
    content = copy.deepcopy(FILE)
    inside = content
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    with pytest.raises(DataError, match=message):
        list(write(content).rows())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff{}"])
def test_invalid_json_is_reported(write, content):
    with pytest.raises(DataError, match="train.json: the file is not"):
        list(write(content).rows())


def test_the_file_of_new_articles(shared):
    rows = list(SquadFile(path=str(shared / "squad/new_wiki_v1.0.json")).rows())
    assert len(rows) == 7938 and len({row.fields["title"] for row in rows}) == 48
    for row in rows:
        for answer in row.fields["answers"]:
            assert row.fields["context"].startswith(answer["text"], answer["start"])
