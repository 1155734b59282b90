"""Tags as targets: entity types, labels of words, and errors."""

import json

import pytest

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.tag_targets import Tags
from tfattn.errors import ConfigError, DataError
from tfattn.formats.source import Row


def row(text, tags, line=2):
    return Row({"text": text, "tags": tags}, f"x.conll:{line}")


def fitted(*tags, **options):
    target = Tags(**options)
    target.fit(DictionaryEncoded.of(target.stratum(row("", one)) for one in tags), iter(()))
    return target


def test_types_are_found_and_counted_and_words_get_labels():
    target = fitted("B-PER I-PER", ["O", "B-LOC", "B-PER"], "O")
    assert target.facts == {"labels": ["LOC", "PER"], "counts": [1, 2]}
    again = Tags()
    again.use(json.loads(json.dumps(target.facts)))
    for one in (target, again):
        words = one.words(row("a  bc  U.N.", "B-PER O B-LOC"))
        assert [tuple(word) for word in words] == [(0, 3, 4), (3, 0, 0), (7, 1, 2)]
        assert one.encode(row("a", "O")) == {}


def test_characters_have_tags_if_the_counts_match():
    target = fitted("B-PER I-PER B-LOC")
    for text, tags in (("海京a海", "B-LOC I-LOC O B-PER"), ("海京 a海", ["B-LOC", "I-LOC", "O", "B-PER"])):
        target.check(row(text, tags))
        words = target.words(row(text, tags))
        assert [text[word.start] for word in words] == ["海", "京", "a", "海"]
        assert [word.first for word in words] == [1, 2, 0, 3]
    assert [tuple(word) for word in target.words(row("海京", "B-LOC"))] == [(0, 1, 2)], "one tag of a whole word"


@pytest.mark.parametrize(
    ("text", "tags", "message"),
    [
        ("a b", ["O"], "x.conll:5: there is not one tag for each word: expected 2, .*received 1 tags"),
        ("a", "O O", "expected 1, .*received 2 tags"),
        ("海 ab", "O", "expected 2, as the text has words .*, or 3, as it has characters, received 1 tags"),
        ("a b", "O I-PER", "x.conll:5: tag 2 is not IOB2: expected B-PER .*received 'I-PER'.*`conll`"),
        ("a", {"a": 1}, "x.conll:5: the value of `tags` is no list of tags: expected a list of texts"),
        ("a", [3], "the value of `tags` is no list of tags"),
    ],
)
def test_an_invalid_tagged_text_is_located(text, tags, message):
    with pytest.raises(DataError, match=message):
        Tags().check(row(text, tags, line=5))


def test_an_unlisted_or_unseen_type_is_located():
    listed = Tags(labels=["LOC", "PER"])
    listed.check(row("a", "B-PER"))
    with pytest.raises(DataError) as error:
        listed.check(row("a b", "B-PER B-PERS", line=4))
    assert str(error.value) == (
        "x.conll:4: not a label of `data.targets.labels`: expected entities of type LOC, PER, received 'PERS'. "
        "Did you mean `PER`?"
    )
    target = fitted("B-LOC", "B-PER")
    target.check_known(target.stratum(row("a b", "B-PER B-LOC")), "x.conll:2")
    with pytest.raises(DataError, match="x.conll:9: a tag that no training row has: expected .*LOC, PER, received 'OR"):
        target.check_known(target.stratum(row("a", "B-ORG")), "x.conll:9")


def test_texts_without_entities_are_refused():
    with pytest.raises(DataError, match="there is nothing to find.*`fields.tags`"):
        fitted("O O", "O")
    with pytest.raises(ConfigError, match="not a list of types"):
        Tags(labels=["LOC", "LOC"])
    assert Tags().facts == {"labels": None, "counts": [1]}
