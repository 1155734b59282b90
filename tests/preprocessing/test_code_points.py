"""Tables of all characters: every entry, and shared pages."""

import csv
import functools
import gzip
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import NFD

from tfattn.preprocessing.characters import normalizer
from tfattn.preprocessing.code_points import CODE_POINTS, CodePointTable, build_pages
from tfattn.preprocessing.wordpiece import WordPiece


@pytest.mark.parametrize("shape", [(CODE_POINTS,), (CODE_POINTS, 2)])
def test_each_character_has_its_entry(shape):
    table = np.zeros(shape, np.int32)
    table[[0, 97, 128, 0x10FFFF]] = np.arange(1, 5).reshape(-1, *[1] * (len(shape) - 1))
    pages = build_pages(table)
    asked = [0, 1, 97, 127, 128, 0x3000, 0x10FFFF]
    np.testing.assert_array_equal(CodePointTable(pages)(tf.constant(asked)), table[asked])
    assert len(pages.entries) == 4 * 128


# Marks that the reference keeps, and sorts, when it strips accents; and musical notes that contain some.
ORDERED_MARKS = (
    "08D4-08E1 1B44 1BAA 1BF2-1BF3 1DFB 302E-302F A953 A9C0 111C0 11235 1134D 11442 11446 116B6 11C3F 1D165-1D166 "
    "1D16D-1D172 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E944-1E94A"
)
NOTES_WITH_MARKS = "1D15E-1D164 1D1BB-1D1C0"


def characters(ranges: str) -> str:
    ends = [(first, last or first) for first, _, last in (part.partition("-") for part in ranges.split())]
    return "".join(chr(code) for first, last in ends for code in range(int(first, 16), int(last, 16) + 1))


def tsv(path: Path, *columns: int, header: bool = True) -> list[tuple[str, ...]]:
    lines = path.read_text(encoding="utf-8").split("\n")[1 if header else 0 :]
    return [tuple(line.split("\t")[column] for column in columns) for line in lines if line]


@functools.cache
def english(shared: Path) -> list[tuple[str, ...]]:
    with open(shared / "factory_reports" / "factoryReports.csv", encoding="utf-8-sig", newline="") as file:
        rows = [(row["Description"],) for row in csv.DictReader(file)]
    for part in ("train", "dev"):
        rows += tsv(shared / "glue" / "CoLA" / f"{part}.tsv", 3, header=False)
        rows += tsv(shared / "glue" / "SST-2" / f"{part}.tsv", 0)
    return rows + tsv(shared / "glue" / "SST-2" / "sentences_train.tsv", 0, header=False)


@functools.cache
def english_pairs(shared: Path) -> list[tuple[str, ...]]:
    tasks = {"MRPC": (3, 4), "RTE": (1, 2), "QNLI": (1, 2), "STS-B": (7, 8)}
    files = [
        (shared / "glue" / task / f"{part}.tsv", columns)
        for task, columns in tasks.items()
        for part in ("train", "dev")
    ]
    return [pair for path, columns in files for pair in tsv(path, *columns)]


@functools.cache
def chinese(shared: Path) -> list[tuple[str, ...]]:
    rows = []
    for part in ("train", "dev"):
        rows += tsv(shared / "chinese" / "chnsenticorp" / f"{part}.tsv", 1)
        rows += tsv(shared / "chinese" / "thucnews_titles" / f"{part}.txt", 0, header=False)
    sentences = gzip.decompress((shared / "chinese" / "peopledaily_ner" / "train.txt.gz").read_bytes()).decode()
    tagged = [sentence.split("\n") for sentence in sentences.strip().split("\n\n")]
    return rows + [("".join(line.split(" ")[0] for line in sentence),) for sentence in tagged]


@functools.cache
def chinese_pairs(shared: Path) -> list[tuple[str, ...]]:
    articles = json.loads((shared / "chinese" / "cmrc2018" / "cmrc2018_dev.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [(answer["question"], paragraph["context"]) for paragraph in paragraphs for answer in paragraph["qas"]]


@pytest.mark.parametrize("max_length", [512, 24])
@pytest.mark.parametrize(
    ("texts", "name", "lower_case"),
    [
        (english, "bert-base-uncased", True),
        (english_pairs, "bert-base-uncased", True),
        (english, "bert-base-cased", False),
        (english_pairs, "bert-base-cased", False),
        (chinese, "bert-base-chinese", True),
        (chinese_pairs, "bert-base-chinese", False),
    ],
)
@pytest.mark.parametrize("step", [30, pytest.param(1, marks=pytest.mark.slow)])
def test_published_texts(shared, equals_reference, texts, name, lower_case, max_length, step):
    rows = texts(shared)[::step]
    fields = ("text",) if len(rows[0]) == 1 else ("text_a", "text_b")
    vocabulary = str(shared / "vocabs" / name / "vocab.txt")
    tokenizer = WordPiece(vocabulary=vocabulary, lower_case=lower_case, max_length=max_length, fields=fields)
    tokenizer.fit([])

    equals_reference(tokenizer, rows)


COMMON = "abcABC é,.'[]#-üßİΣς \t\n中한\u0301\u200b\xad，"
ORDERED = characters(ORDERED_MARKS) + characters(NOTES_WITH_MARKS)
ANY = st.characters(exclude_categories=["Cs"], exclude_characters=ORDERED)
NOT_A_LETTER = st.characters(categories=["Cc", "Cf", "Co", "M", "P", "S", "Z"], exclude_characters=ORDERED)
EDGES_OF_CHINESE = st.sampled_from(
    "\u33ff\u3400\u4dbf\u4dc0\u4e00\u9fff\ua000\uf900\ufaff\U00020000\U0002a6df\U0002b81f\U0002b820\U0002b920"
)
SPECIAL = st.sampled_from(["[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "##b", "##"])
LONG = st.tuples(st.sampled_from("aé中\U00010400\u1e9e한İ"), st.integers(97, 104)).map(lambda one: one[0] * one[1])
PARTS = [st.sampled_from(COMMON), st.text(COMMON), st.text(ANY), st.text(NOT_A_LETTER), EDGES_OF_CHINESE, SPECIAL, LONG]
TEXT = st.lists(st.one_of(PARTS)).map("".join)

FOLDINGS = [(True, True), (True, False), (False, True), (False, False)]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> dict[tuple[bool, bool, int], WordPiece]:
    """One tokenizer for each folding and number of texts, whose vocabulary tells most characters apart."""
    made = {}
    for lower_case, strip_accents in FOLDINGS:
        clean = normalizer(lower_case=lower_case, strip_accents=strip_accents).normalize_str
        known = sorted(set(clean("".join(map(chr, range(0x3100))) + COMMON + "\U00010400\u1e9e") + ORDERED) - {" "})
        path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *known, *(f"##{character}" for character in known), "ab", "##bc"]
        path.write_bytes("\n".join(tokens).encode())
        for fields in (("text",), ("text_a", "text_b")):
            tokenizer = WordPiece(
                vocabulary=str(path), lower_case=lower_case, strip_accents=strip_accents, max_length=40, fields=fields
            )
            tokenizer.fit([])
            made[lower_case, strip_accents, len(fields)] = tokenizer
    return made


@pytest.mark.parametrize(("lower_case", "strip_accents"), FOLDINGS)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(TEXT, min_size=1, max_size=8))
def test_any_text(fitted, equals_reference, lower_case, strip_accents, texts):
    equals_reference(fitted[lower_case, strip_accents, 1], [(text,) for text in texts])
    pairs = list(zip(texts, texts[1:] + texts[:1], strict=True))
    equals_reference(fitted[lower_case, strip_accents, 2], pairs)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.binary(max_size=12), min_size=1, max_size=8))
def test_invalid_utf8_equals_replacement_characters(fitted, equals_reference, texts):
    equals_reference(fitted[True, True, 1], [(text,) for text in texts])


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.one_of(st.sampled_from(ORDERED), st.characters(categories=["M"]), st.sampled_from("ab é한"))))
def test_ordered_marks_in_canonical_order_change_nothing(fitted, equals_reference, text):
    equals_reference(fitted[True, True, 1], [(NFD().normalize_str(text),)])


def test_reordered_marks_are_the_only_difference(fitted):
    tokenizer = fitted[True, True, 1]
    text, in_order = "a\u302e\U0001d165", "a\U0001d165\u302e"
    assert NFD().normalize_str(text) == in_order

    first, second = tokenizer({"text": tf.constant([text, in_order])})["token_ids"].to_list()

    assert first == [second[place] for place in (0, 1, 3, 2, 4)]


def test_the_ordered_marks_are_known():
    clean = normalizer(lower_case=True, strip_accents=True).normalize_str
    marks = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    kept = [one for one in marks if clean(one) == one]
    moved = set()
    for probe in "\u302e\U0001d165\U0001d16d":  # each mark changes places with one of these, on one side of it
        for texts in ([one + probe for one in kept], [probe + one for one in kept]):
            new = clean("|".join(texts)).split("|")
            moved |= {one for one, old, text in zip(kept, texts, new, strict=True) if text == old[::-1] != old}

    assert "".join(sorted(moved)) == characters(ORDERED_MARKS)
    assert all(set(clean(note)) & moved for note in characters(NOTES_WITH_MARKS))


@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-cased", "bert-base-chinese"])
def test_no_published_vocabulary_has_an_ordered_mark(shared, name):
    vocabulary = (shared / "vocabs" / name / "vocab.txt").read_text(encoding="utf-8")

    assert not set(vocabulary) & set(ORDERED)
