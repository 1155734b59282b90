"""Conversion of tagging schemes to IOB2; invalid tags are located."""

import itertools

import pytest

from tfattn.formats.tag_schemes import TagError, spans, to_iob2


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob1", "I-PER I-PER O I-LOC B-LOC I-LOC I-ORG I-PER"),
        ("iob2", "B-PER I-PER O B-LOC B-LOC I-LOC B-ORG B-PER"),
        ("bioes", "B-PER E-PER O S-LOC B-LOC E-LOC S-ORG S-PER"),
    ],
)
def test_all_schemes_convert_to_equal_tags(scheme, tags):
    assert " ".join(to_iob2(tags.split(), scheme)) == "B-PER I-PER O B-LOC B-LOC I-LOC B-ORG B-PER"
    assert to_iob2([], scheme) == []


def test_entities_are_listed():
    assert spans(["B-PER", "I-PER", "O", "B-LOC", "B-LOC"]) == [("PER", 0, 1), ("LOC", 3, 3), ("LOC", 4, 4)]
    assert spans([]) == spans(["O"]) == []


def test_all_short_sentences_equal_seqeval():
    seqeval = pytest.importorskip("seqeval.metrics.sequence_labeling", reason="needs seqeval, to compare with")
    from seqeval.scheme import IOBES, Entities

    for tags in itertools.product(("O", "I-A", "B-A", "I-B", "B-B"), repeat=4):
        assert spans(to_iob2(tags, "iob1")) == seqeval.get_entities(list(tags))
    for tags in itertools.product(("O", "B-A", "I-A", "E-A", "S-A", "S-B"), repeat=4):
        try:
            converted = to_iob2(tags, "bioes")
        except TagError:
            continue
        (expected,) = Entities([list(tags)], IOBES).entities
        assert spans(converted) == [(one.tag, one.start, one.end - 1) for one in expected]


@pytest.mark.parametrize(
    ("scheme", "tags", "place", "expected"),
    [
        ("iob2", "O I-PER", 1, "B-PER at the start of an entity"),
        ("iob2", "B-LOC I-PER", 1, "B-PER"),
        ("iob2", "B-LOC S-LOC", 1, "O, B-TYPE, I-TYPE"),
        ("iob2", "B-", 0, "O, B-TYPE"),
        ("iob1", "PER", 0, "O, B-TYPE, I-TYPE"),
        ("bioes", "E-PER", 0, "B-PER at the start of an entity"),
        ("bioes", "B-PER O", 1, "I-PER or E-PER, because the entity before has no end"),
        ("bioes", "B-PER S-PER", 1, "I-PER or E-PER"),
        ("bioes", "O B-PER", 1, "E-PER or S-PER at the end of an entity"),
    ],
)
def test_an_invalid_tag_is_located(scheme, tags, place, expected):
    with pytest.raises(TagError) as raised:
        to_iob2(tags.split(), scheme)
    assert raised.value.index == place and raised.value.expected.startswith(expected)


def test_iob1_read_as_iob2_is_guessed():
    with pytest.raises(TagError) as raised:
        to_iob2(["I-PER"], "iob2")
    assert "`scheme: iob1`" in raised.value.remedy
