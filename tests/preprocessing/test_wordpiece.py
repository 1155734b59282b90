"""The WordPiece preprocessor: settings, files and features."""

import json
from pathlib import Path

import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tfattn.errors import ConfigError, DataError, TfattnError
from tfattn.preprocessing.wordpiece import WordPiece

PAD, UNK, CLS, SEP = 0, 1, 2, 3
PLACES = ("starts", "ends", "max_context")
ROWS = [{"text": "The mixer rattles."}, {"text": "The Mixer rattles loudly."}, {"text": "Ein Gerät rattles."}]


def fitted(vocabulary: str = "train", **settings) -> WordPiece:
    tokenizer = WordPiece(vocabulary=vocabulary, **settings)
    tokenizer.fit([dict.fromkeys(tokenizer.fields, row["text"]) for row in ROWS])
    return tokenizer


def read(tokenizer: WordPiece, *texts: str | bytes) -> list[list[str]]:
    ids = tokenizer({"text": tf.constant(texts, tf.string)})["token_ids"]
    return [[tokenizer.tokens[number] for number in row] for row in ids.to_list()]


def test_a_text_is_between_its_special_tokens(write_vocabulary):
    tokenizer = fitted(write_vocabulary("mix", "##er", "rattle", "##s", "."))

    features = tokenizer({"text": tf.constant(["Mixer rattles.", "", "zebra mix"])})

    assert features["token_ids"].to_list() == [[CLS, 5, 6, 7, 8, 9, SEP], [CLS, SEP], [CLS, UNK, 5, SEP]]
    assert features["segment_ids"].to_list() == [[0] * 7, [0] * 2, [0] * 4]
    assert {name: ids.dtype for name, ids in features.items()} == {"token_ids": tf.int32, "segment_ids": tf.int32}
    assert len(tokenizer.tokens) == 10


def test_a_pair_has_two_segments_and_the_longer_is_cut_first(write_vocabulary):
    tokenizer = fitted(write_vocabulary("a", "b"), fields=("text_a", "text_b"), max_length=8)

    fields = {"text_a": tf.constant(["a a a a a a", "a", ""]), "text_b": tf.constant(["b b", "b", "b"])}
    features = tokenizer(fields)

    assert features["token_ids"].to_list() == [
        [CLS, 5, 5, 5, SEP, 6, 6, SEP],
        [CLS, 5, SEP, 6, SEP],
        [CLS, SEP, 6, SEP],
    ]
    assert features["segment_ids"].to_list() == [[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1]]
    assert tokenizer.truncated(fields).numpy().tolist() == [True, False, False]


def test_offsets_are_characters_of_the_original_text(write_vocabulary):
    tokenizer = fitted(write_vocabulary("cafe", "中", "mix", "##er"))
    text = "\u200bCafe\u0301 中 \U0001f600 mi\u00adxer"

    starts, ends = tokenizer.offsets({"text": tf.constant([text])})

    spans = zip(starts.to_list()[0], ends.to_list()[0], strict=True)
    assert [text[start:end] for start, end in spans] == ["", "Cafe", "中", "\U0001f600", "mi\u00adx", "er", ""]


def located(tokenizer: WordPiece, what: str, **texts: str) -> dict[str, list[list[int]]]:
    tokenizer.locate(what)
    features = tokenizer({name: tf.constant([text]) for name, text in texts.items()})
    return {name: features[name].to_list() for name in (*PLACES, "word_numbers") if name in features}


def test_words_are_located_at_their_first_pieces(write_vocabulary):
    tokenizer = fitted(write_vocabulary("cafe", "中", "mix", "##er", "."))
    text = "\u200bCafe\u0301 中 mi\u00adxer. Zebra"

    places = located(tokenizer, "words", text=text)

    assert places["word_numbers"] == [[0, 1, 2, 3, 0, 4, 5, 0]]
    spans = list(zip(places["starts"][0], places["ends"][0], strict=True))
    assert [text[start:end] for start, end in spans] == ["", "Cafe", "中", "mi\u00adxer", "", ".", "Zebra", ""]
    assert places["max_context"] == [[0, 1, 1, 1, 1, 1, 1, 0]]


def test_pieces_of_the_second_text_are_located_in_windows(write_vocabulary):
    tokenizer = fitted(
        write_vocabulary("mix", "##er"), fields=("question", "context"), max_length=8, doc_stride=2, max_query_length=2
    )

    places = located(tokenizer, "pieces", question="mix mix mix", context="mixer mix Mixer")

    assert places["starts"] == [[0, 0, 0, 0, 0, 3, 6, 0], [0, 0, 0, 0, 6, 10, 13, 0]]
    assert places["ends"] == [[0, 0, 0, 0, 3, 5, 9, 0], [0, 0, 0, 0, 9, 13, 15, 0]]
    assert places["max_context"] == [[0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1, 1, 0]]


def test_special_tokens_in_a_text_are_text(write_vocabulary):
    tokenizer = fitted(write_vocabulary("[", "]", "mask", "sep"))

    assert read(tokenizer, "[MASK] [SEP]") == [["[CLS]", "[", "mask", "]", "[", "sep", "]", "[SEP]"]]


def test_words_may_have_a_hundred_characters_of_any_byte_length(write_vocabulary):
    tokenizer = fitted(write_vocabulary("\U00010400".lower(), "##" + "\U00010400".lower()))

    assert len(read(tokenizer, "\U00010400" * 100)[0]) == 102
    assert read(tokenizer, "\U00010400" * 101) == [["[CLS]", "[UNK]", "[SEP]"]]


def test_invalid_utf8_is_dropped(write_vocabulary):
    tokenizer = fitted(write_vocabulary("ab"))

    assert read(tokenizer, b"a\xffb \xe2\x82 \xed\xa0\x80") == [["[CLS]", "ab", "[SEP]"]]


def test_unknown_words_are_counted_in_the_untruncated_text(write_vocabulary):
    tokenizer = fitted(write_vocabulary("a", "b", "##b"), fields=("text_a", "text_b"), max_length=5)

    texts = ["a abb 泵漏 ab", "", "Zebra a", "a" * 101 + b"\xff".decode("latin-1")]
    unknown = tokenizer.unknown({"text_a": tf.constant(texts), "text_b": tf.constant([b"a \xff b", b"", b"", b""])})

    assert (unknown["text_a"].counted, unknown["text_a"].unknown) == (5 + 3 + 2 + 1, 4)
    assert unknown["text_a"].values == {"泵": 1, "漏": 1, "zebra": 1, "a" * 40: 1}
    assert (unknown["text_b"].counted, unknown["text_b"].unknown) == (2, 0)


def test_the_remedy_follows_the_vocabulary(write_vocabulary):
    assert "`vocabulary: train`" in WordPiece(vocabulary=write_vocabulary("a")).unknown_remedy
    assert "`vocabulary_size`" in WordPiece(vocabulary="train").unknown_remedy


def test_case_folding_follows_the_vocabulary_by_default(write_vocabulary):
    lower, cased = write_vocabulary("mixer"), write_vocabulary("Mixer", "mixer", "e", "\u00e9")

    assert read(fitted(lower), "Mixer") == [["[CLS]", "mixer", "[SEP]"]]
    assert read(fitted(cased), "Mixer \u00e9") == [["[CLS]", "Mixer", "\u00e9", "[SEP]"]]
    assert read(fitted(cased, lower_case=True), "Mixer \u00e9") == [["[CLS]", "mixer", "e", "[SEP]"]]
    assert read(fitted(cased, strip_accents=True), "Mixer \u00e9") == [["[CLS]", "Mixer", "e", "[SEP]"]]


def test_a_vocabulary_is_trained_on_the_rows():
    assert read(fitted(), "the MIXER gerat") == [["[CLS]", "the", "mixer", "g", "##er", "##at", "[SEP]"]]
    assert len(fitted(vocabulary_size=20).tokens) == 20


@pytest.mark.parametrize("fields", [("text",), ("text_a", "text_b")])
def test_contract(tmp_path, write_vocabulary, fields):
    vocabulary = write_vocabulary("Mix", "##er", "rattle", "##s", "e", "中")
    rows = [dict.fromkeys(fields, text) for text in ("Mixer \u00c9\u200b rattles", "Mix", "\u4e2d" * 3)]
    for number, settings in enumerate([{}, {"max_length": 6, "strip_accents": True, "lower_case": False}]):
        (tmp_path / str(number)).mkdir()
        check_preprocessor(
            fitted(vocabulary, fields=fields, **settings),
            WordPiece(vocabulary="elsewhere/vocab.txt"),
            rows,
            folder=tmp_path / str(number),
        )


@pytest.mark.parametrize("what", ["words", "pieces"])
def test_contract_with_locations(tmp_path, write_vocabulary, what):
    tokenizer = fitted(write_vocabulary("mix", "##er", "中"), fields=("question", "context"), max_length=9)
    tokenizer.locate(what)
    rows = [{"question": text, "context": text} for text in ("Mixer \u00c9\u200b rattles", "Mix ")]
    check_preprocessor(tokenizer, WordPiece(), rows, folder=tmp_path)


def test_transformers_reads_saved_files(tmp_path, write_vocabulary):
    transformers = pytest.importorskip("transformers")
    fitted(write_vocabulary("Mix", "##er", "E"), strip_accents=True).save(tmp_path)

    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)

    assert theirs.tokenize("Mixer \u00c9") == ["Mix", "##er", "E"]
    assert theirs.model_max_length == 128


@pytest.mark.parametrize("damage", ["missing", "{", "[]", '{"do_lower_case": true}'])
def test_damaged_settings_are_refused(tmp_path, damage):
    fitted().save(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    if damage != "missing":
        (tmp_path / "tokenizer_config.json").write_text(damage)

    with pytest.raises(DataError, match=r"config.json: the file is (missing|damaged).*Prepare the data again"):
        WordPiece().load(tmp_path)


def test_another_tokenizers_treatment_of_characters_is_refused(tmp_path):
    fitted().save(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    changed = {**json.loads(path.read_text()), "characters_sha256": "0", "tokenizers_version": "0.0.1"}
    path.write_text(json.dumps(changed))

    with pytest.raises(DataError, match="expected tokenizers 0.0.1, received .*pip install tokenizers==0.0.1"):
        WordPiece().load(tmp_path)


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"fields": ()}, "fields", "expected 1 or 2 names, received ()"),
        ({"fields": ("a", "b", "c")}, "fields", "expected 1 or 2 names"),
        ({"max_length": 2}, "max_length", "expected at least 3, [CLS] and [SEP]s included, received 2"),
        ({"max_length": 4, "fields": ("a", "b")}, "max_length", "expected at least 5"),
    ],
)
def test_impossible_settings_are_refused(settings, key, message):
    with pytest.raises(ConfigError) as raised:
        WordPiece(**settings)

    assert raised.value.key == key
    assert message in str(raised.value)


def test_fitting_errors_are_reported():
    with pytest.raises(ConfigError, match="no pretrained model") as raised:
        fitted("pretrained")
    assert raised.value.key == "vocabulary"
    with pytest.raises(ConfigError, match="the rows have no such field: expected some of text, received title"):
        WordPiece(fields=("title",)).fit(ROWS)
    with pytest.raises(DataError, match="cannot read the vocabulary"):
        fitted("no/vocab.txt")
    with pytest.raises(TfattnError, match="has no vocabulary yet. Call `fit` or `load` first."):
        WordPiece()({"text": tf.constant(["a"])})


def test_sizes_are_provisional_until_fitted(write_vocabulary):
    tokenizer = WordPiece(vocabulary=write_vocabulary("a", "b"), vocabulary_size=500)
    assert tokenizer.sizes == {"vocabulary_size": 500}
    tokenizer.fit(ROWS)
    assert tokenizer.sizes == {"vocabulary_size": 7}


def test_files_lists_the_vocabulary():
    assert [WordPiece(vocabulary=name).files for name in ("train", "pretrained")] == [[], []]
    assert WordPiece(vocabulary="some/vocab.txt").files == [Path("some/vocab.txt")]


@pytest.mark.parametrize(("stated", "adopted"), [(None, "mixer"), (False, "Mixer"), (True, "mixer")])
def test_adopted_vocabularies_keep_stated_settings(write_vocabulary, stated, adopted):
    vocabulary = Path(write_vocabulary("Mixer", "mixer"))
    tokenizer = WordPiece(vocabulary="pretrained", lower_case=stated)
    assert tokenizer.needs_pretrained
    tokenizer.adopt(vocabulary=vocabulary, lower_case=True, strip_accents=None)
    assert not tokenizer.needs_pretrained
    assert tokenizer.files == [vocabulary]
    tokenizer.fit(ROWS)
    assert read(tokenizer, "Mixer") == [["[CLS]", adopted, "[SEP]"]]


def test_adopted_accent_settings_are_used(write_vocabulary):
    vocabulary = Path(write_vocabulary("élan", "elan"))
    for strip_accents, read_as in ((False, "élan"), (True, "elan"), (None, "elan")):
        tokenizer = WordPiece(vocabulary="pretrained")
        tokenizer.adopt(vocabulary=vocabulary, lower_case=True, strip_accents=strip_accents)
        tokenizer.fit(ROWS)
        assert read(tokenizer, "Élan") == [["[CLS]", read_as, "[SEP]"]]
