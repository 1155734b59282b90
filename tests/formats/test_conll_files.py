"""CoNLL files: sentences, documents, delimiters, parts, and errors."""

from itertools import islice

import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.formats import parts
from tfattn.formats.conll_files import ConllFile

FIELDS = {"text": 1, "tags": -1}
TEXT = """\
-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC

-DOCSTART- -X- O O

Bonn NNP I-NP I-LOC
Paris NNP I-NP B-LOC
"""


@pytest.fixture
def write(tmp_path):
    def write(text, **options):
        path = tmp_path / "some.train"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ConllFile(path=str(path), **{"fields": FIELDS, "scheme": "iob1", **options})

    return write


def read(source, part=None):
    return [
        (row.fields["text"], " ".join(row.fields["tags"]), int(row.where.rpartition(":")[2]))
        for row in source.rows(part)
    ]


ROWS = [("EU rejects German", "B-ORG O B-MISC", 3), ("Bonn Paris", "B-LOC B-LOC", 9)]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.removesuffix("\n"),
        TEXT + "\n\n",
        TEXT.replace(" ", "\t"),
        TEXT.replace("EU", "  EU "),
        TEXT.replace("\n\n", "\n \t\n"),
    ],
)
def test_a_row_is_a_sentence_located_by_its_first_line(write, text):
    assert read(write(text)) == ROWS


def test_other_columns_encodings_and_delimiters(write):
    source = write("ßa|O|x y\n\n".encode("latin-1"), delimiter="|", encoding="latin-1", fields={"text": 3, "tags": 2})
    assert read(source) == [("x\u00a0y", "O", 1)]
    source = write("海 O\n\u3000 O\n", fields={"text": 1, "tags": 2, "pos": 2})
    (row,) = source.rows()
    assert row.fields == {"text": "海 \u00a0", "tags": ["O", "O"], "pos": ["O", "O"]}


def test_languages_without_spaces_have_a_tag_per_character(write):
    source = write("京 B-LOC\n大 I-LOC\n在 O\n\n北京 B-LOC\n1998 O\n", scheme="iob2", spaces=False)
    assert read(source) == [("京大在", "B-LOC I-LOC O", 1), ("北京1998", "B-LOC I-LOC O O O O", 5)]
    source = write(
        "北京|x|S-LOC\nUlan Ude||S-LOC\n", fields={"text": 1, "x": 2, "tags": 3}, scheme="bioes", delimiter="|"
    )
    source.spaces = False
    (row,) = source.rows()
    assert row.fields["text"] == "北京Ulan\u00a0Ude" and row.fields["x"] == ["x", ""]
    assert row.fields["tags"] == ["B-LOC", "I-LOC", "B-LOC", *["I-LOC"] * 7]


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_parts_together_are_the_whole(write, monkeypatch, size):
    monkeypatch.setattr(parts, "PART_BYTES", size)
    source = write("".join(f"w{number} O\nx I-A\n\n" for number in range(20)))
    pieces = list(source.parts())
    assert len(pieces) == 1 if size == 1000 else len(pieces) > 3
    assert [row for part in pieces for row in read(source, part)] == read(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a O\nb\n",
            r"train:2: the line has another number of columns: expected 2, as the lines before, received 1: 'b'",
        ),
        ("a O\n\nb x O\n", "train:3: the line has another number of columns: expected 2, .*received 3"),
        ("京 O\n大 B-LOC I-LOC\n", "train:2: the line has another number of columns: expected 2, .*received 3"),
        ("a O\nb X-PER\n", "train:2: a tag that is not iob1: expected O, B-TYPE, I-TYPE, received 'X-PER'"),
        ("\n\n", "the file holds no sentences"),
        ("", "the file is empty"),
        (b"a\xff O\n", "not.*utf-8"),
    ],
)
def test_invalid_rows_are_located(write, text, message):
    with pytest.raises(DataError, match=message):
        read(write(text))


def test_a_file_of_another_scheme_is_reported(write):
    with pytest.raises(DataError, match="train:3: a tag that is not iob2: expected B-ORG .*`scheme: iob1`"):
        read(write(TEXT, scheme="iob2"))


def test_a_missing_column_is_reported(write):
    with pytest.raises(DataError, match="train:1: there is no column 5 for `tags`: expected at most 2"):
        read(write("a O\n", fields={"text": 1, "tags": 5}))
    with pytest.raises(ConfigError, match="columns are counted from 1") as raised:
        write("a O\n", fields={"text": 0, "tags": 5})
    assert raised.value.key == "fields.text"
    with pytest.raises(ConfigError, match="the delimiter cannot be used"):
        write("a O\n", delimiter="::")


def test_the_file_of_peoples_daily_has_a_tag_for_each_character(shared):
    path = shared / "chinese/peopledaily_ner/train.txt.gz"
    source = ConllFile(path=str(path), fields={"text": 1, "tags": 2}, spaces=False)
    rows = list(islice(source.rows(), 1000))
    assert rows[0].fields["text"].startswith("当希望工程救助的百万儿童成长起来，")
    assert all(len(row.fields["text"]) == len(row.fields["tags"]) for row in rows)
    with pytest.raises(DataError, match=r"train.txt.gz:\d+: a tag that is not bioes"):
        list(ConllFile(path=str(path), fields={"text": 1, "tags": 2}, scheme="bioes").rows())


def test_the_files_of_conll_2003(shared):
    source = ConllFile(path=str(shared / "conll2003/eng.testa"), fields={"text": 1, "tags": 4}, scheme="iob1")
    rows = list(source.rows())
    assert len(rows) == 3250
    assert sum(len(row.fields["tags"]) for row in rows) == 51_362
    assert sum(tag.startswith("B-") for row in rows for tag in row.fields["tags"]) == 5942
