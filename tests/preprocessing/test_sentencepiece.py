"""The SentencePiece preprocessor: settings, files, sequences, and excluded rows."""

import json

import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tfattn.errors import ConfigError, DataError, TfattnError
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.sentencepiece_model import SentencePieceModel

START, END = 2, 3
ROWS = [
    {"source": "a man walks a dog", "target": "ein Mann führt einen Hund"},
    {"source": "two dogs walk", "target": "zwei Hunde laufen"},
    {"source": "a dog and a man", "target": "ein Hund und ein Mann"},
]


def fitted(**settings):
    tokenizer = SentencePiece(**{"vocabulary_size": 120, "model_type": "word", **settings})
    tokenizer.fit(ROWS)
    return tokenizer


def fields(*pairs):
    sources, targets = zip(*pairs, strict=True)
    return {"source": tf.constant(sources), "target": tf.constant(targets)}


def names(tokenizer, *pairs):
    features = tokenizer(fields(*pairs))
    return [
        [[token.decode() for token in row] for row in named.to_list()]
        for named in (
            tokenizer.token_names(features["token_ids"]),
            tokenizer.target_token_names(features["target_ids"]),
        )
    ]


def test_sources_have_an_end_and_targets_a_start_and_an_end():
    sources, targets = names(fitted(), ("a dog", "ein Hund"), ("", ""))
    assert sources == [["▁a", "▁dog", "</s>"], ["</s>"]]
    assert targets == [["<s>", "▁ein", "▁Hund", "</s>"], ["<s>", "</s>"]]


def test_long_texts_are_cut_and_reported():
    tokenizer = fitted(max_length=4, target_max_length=3)
    pairs = [("a dog and", "ein"), ("a dog and a", "ein"), ("a", "ein Hund"), ("a", "")]
    sources, targets = names(tokenizer, *pairs)
    assert sources[:2] == [["▁a", "▁dog", "▁and", "</s>"]] * 2
    assert targets == [["<s>", "▁ein", "</s>"]] * 3 + [["<s>", "</s>"]]
    given = fields(*pairs)
    assert tokenizer.truncated(given).numpy().tolist() == [False, True, True, False]
    assert tokenizer.truncated({"source": given["source"]}).numpy().tolist() == [False, True, False, False]


def test_a_text_of_many_bytes_counts_as_truncated():
    tokenizer = fitted(model_type="bpe")
    given = {"source": tf.constant([" " * 70_000 + "a dog", "😀" * 20_000, "a dog"])}
    assert tokenizer.truncated(given).numpy().tolist() == [True, True, False]


def test_training_rows_of_unsuitable_lengths_are_excluded():
    pairs = [("a", "ein ein"), ("a", "ein ein ein"), ("a dog and a", "ein"), ("a", "\u200b"), ("a " * 6, "ein " * 6)]
    left_out = fitted(max_length=8, max_ratio=2.0).excluded(fields(*pairs)).numpy().tolist()
    assert left_out == [False, True, True, True, False]
    assert fitted(max_length=8).excluded(fields(*pairs)).numpy().tolist() == [False, False, False, True, False]
    assert fitted(max_length=7).excluded(fields(*pairs)).numpy().tolist() == [False, False, False, True, True]
    assert fitted(max_length=6).excluded({"source": tf.constant(["a " * 5, "a " * 6])}).numpy().tolist() == [0, 1]


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "word"])
def test_texts_round_trip(model_type):
    tokenizer = fitted(model_type=model_type, vocabulary_size=60)
    texts = ["ein Hund und", "zwei  Hunde ", "a man"]
    ids = tokenizer(fields(*(("", text) for text in texts)))["target_ids"]
    for given in (ids, ids.to_tensor(), ids.to_tensor().numpy()):
        assert tokenizer.detokenize(given).numpy().tolist() == [b"ein Hund und", b"zwei Hunde", b"a man"]


def test_joint_and_separate_vocabularies():
    joint = fitted()
    apart = fitted(joint=False)
    assert joint.token_names([[5, 6]]).numpy().tolist() == joint.target_token_names([[5, 6]]).numpy().tolist()
    assert names(apart, ("Hund dog", "dog Hund")) == [[["<unk>", "▁dog", "</s>"]], [["<s>", "<unk>", "▁Hund", "</s>"]]]
    assert names(joint, ("Hund dog", "Hund")) == [[["▁Hund", "▁dog", "</s>"]], [["<s>", "▁Hund", "</s>"]]]
    assert (apart.start_id, apart.end_id, tuple(apart.suppressed_ids)) == (START, END, (0, 1, 2))


def test_sizes_are_provisional_until_fitted():
    sizes = [
        SentencePiece(vocabulary_size=500).sizes,
        SentencePiece(vocabulary_size=500, joint=False).sizes,
        SentencePiece(vocabulary_size=500, joint=False, target_vocabulary_size=300).sizes,
        fitted().sizes,
        fitted(joint=False).sizes,
        fitted(model_type="bpe", joint=False, vocabulary_size=30, target_vocabulary_size=40).sizes,
    ]
    assert [tuple(each.values()) for each in sizes] == [
        (500, 500),
        (500, 500),
        (500, 300),
        (21, 21),
        (12, 13),
        (30, 40),
    ]
    assert sizes[0].keys() == {"vocabulary_size", "target_vocabulary_size"}


@pytest.mark.parametrize("joint", [True, False])
def test_contract(tmp_path, joint):
    settings = {"model_type": "bpe", "joint": joint, "vocabulary_size": 40}
    rows = [*ROWS, {"source": "two dogs 😀 walk a man", "target": "zwei"}, {"source": "a", "target": "ein Mann und"}]
    check_preprocessor(
        fitted(**settings, max_length=9, target_max_length=8, max_ratio=3.0),
        SentencePiece(vocabulary="elsewhere/my.model"),
        rows,
        folder=tmp_path,
    )
    sides = ["sentencepiece"] if joint else ["source", "target"]
    expected = {"tokenizer_config.json", *(f"{side}.{ending}" for side in sides for ending in ("model", "vocab"))}
    assert {path.name for path in (tmp_path / "saved").iterdir()} == expected


@pytest.mark.parametrize("damage", ["missing", "{", "[]", '{"joint": true}'])
def test_damaged_settings_are_refused(tmp_path, damage):
    fitted().save(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    if damage != "missing":
        (tmp_path / "tokenizer_config.json").write_text(damage)

    with pytest.raises(DataError, match=r"config.json: the file is (missing|damaged).*Prepare the data again"):
        SentencePiece().load(tmp_path)


@pytest.mark.parametrize("damage", ["missing", "half"])
def test_a_damaged_vocabulary_is_refused(tmp_path, damage):
    fitted(joint=False).save(tmp_path)
    path = tmp_path / "target.model"
    content = path.read_bytes()
    path.unlink()
    if damage == "half":
        path.write_bytes(content[: len(content) // 2])

    with pytest.raises(DataError, match="target.model: (cannot read the|not a) SentencePiece model"):
        SentencePiece().load(tmp_path)


def test_a_vocabulary_can_be_a_file(tmp_path):
    path = tmp_path / "my.model"
    path.write_bytes(SentencePieceModel.train(["ein Hund", "a dog"], size=50, model_type="word").content)
    joint = SentencePiece(vocabulary=str(path))
    assert joint.files == [path]
    joint.fit([])
    assert names(joint, ("dog man", "Hund")) == [[["▁dog", "<unk>", "</s>"]], [["<s>", "▁Hund", "</s>"]]]

    half = SentencePiece(joint=False, target_vocabulary=str(path), vocabulary_size=100, model_type="word")
    assert half.files == [path]
    half.fit(ROWS)
    assert names(half, ("dog man", "Hund Mann")) == [
        [["▁dog", "▁man", "</s>"]],
        [["<s>", "▁Hund", "<unk>", "</s>"]],
    ]
    assert SentencePiece().files == []


def test_fitting_errors_are_reported():
    with pytest.raises(DataError, match="cannot read the SentencePiece model"):
        fitted(vocabulary="no/my.model")
    with pytest.raises(DataError, match="there are no words to learn a vocabulary from"):
        SentencePiece().fit([])
    with pytest.raises(ConfigError, match="expected `target_vocabulary_size` of at least 21, received 10") as raised:
        fitted(model_type="bpe", joint=False, target_vocabulary_size=10)
    assert raised.value.key == "target_vocabulary_size"
    with pytest.raises(TfattnError, match="has no vocabulary yet. Call `fit` or `load` first."):
        SentencePiece()({"source": tf.constant(["a"])})


def test_its_settings_can_be_read(tmp_path):
    fitted(max_length=16).save(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings["model_max_length"] == 16 and settings["joint"] is True
    assert (tmp_path / "sentencepiece.vocab").read_text(encoding="utf-8").startswith("<pad>\t0\n<unk>\t0\n")


def test_unknown_words_are_counted_separately():
    unknown = fitted(model_type="word").unknown(fields(("a 泵漏 水 dog cat", "ein Hund"), ("a ﬁne dog", ""), ("", "x")))
    assert unknown["source"].counted == 8 and unknown["source"].values == {"泵漏": 1, "水": 1, "cat": 1, "ﬁne": 1}
    assert (unknown["target"].counted, unknown["target"].values) == (3, {"x": 1})


def test_unknown_words_are_counted_by_the_vocabulary_of_each_side():
    unknown = fitted(joint=False).unknown(fields(("a Hund", "ein dog")))
    assert [unknown[name].values for name in ("source", "target")] == [{"Hund": 1}, {"dog": 1}]


def test_byte_fallback_has_no_unknown_words():
    settings = {"model_type": "bpe", "vocabulary_size": 400}
    assert fitted(**settings).unknown(fields(("a 泵", "½")))["source"].values == {"泵": 1}
    assert fitted(**settings, byte_fallback=True).unknown(fields(("a 泵", "½")))["source"].unknown == 0


def test_the_remedy_follows_the_settings():
    assert "`model_type: bpe`" in fitted().unknown_remedy
    assert "`byte_fallback: true`" in fitted(model_type="bpe").unknown_remedy
    assert "`vocabulary: train`" in SentencePiece(vocabulary="known.model").unknown_remedy
