"""SentencePiece models: the graph equals the reference, and texts round trip."""

import functools
import random

import pytest
import sentencepiece
import tensorflow as tf

from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.sentencepiece_model import MAX_TEXT_BYTES, SentencePieceModel

TEXTS = [
    "Two young, White males are outside near many bushes.",
    "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    "A man in a blue shirt is standing on a ladder.",
    "Ein Mann in einem blauen Hemd steht auf einer Leiter.",
]
KINDS = ["bpe", "unigram", "word"]
NASTY = [
    "",
    " ",
    "\t \n",
    "a\nb\r\nc",
    "  two   blanks  ",
    "a\0b",
    "\0",
    "😀 👩\u200d👩\u200d👧",
    "cafe\u0301 A\u030a \u0301",
    "\u200b",
    "a\u200bb\u00a0c\ufeff",
    "\ufeffa",
    "▁",
    "▁▁a▁b",
    "<s> a </s> <pad> <unk>",
    "<0x41>",
    "中文 ﬁ ½ ① ｱ １２ 가 \uac00",
    "\u2028x\u2029",
    "\ufffd a\ufffdb",
    " ⁇ ",
    "\u202eabc\u202c \x07 \x7f \x80",
    "\U0010ffff \ue000 \ud7ff",
    "a" * 10_000,
    "Mann " * 2_000,
    "😀" * 2_500,
]


@functools.cache
def learned(model_type="bpe", **options):
    return SentencePieceModel.train(TEXTS, size=options.pop("size", 150), model_type=model_type, **options)


@functools.cache
def describe_reference(model):
    return sentencepiece.SentencePieceProcessor(model_proto=model.content)


def learned_characters(texts, coverage):
    return set("".join(SentencePieceModel.train(texts, size=50, character_coverage=coverage).tokens[4:]))


def normalized(model, text):
    """What is left of a text in which no character is unknown."""
    return describe_reference(model).normalize(text).replace("▁", " ").strip()


def equals_reference(model, texts):
    """Asserts that ids, and texts made of them, are the reference's."""
    ids = model.split(texts).to_list()
    expected = describe_reference(model).encode(list(texts))
    for text, ours, theirs in zip(texts, ids, expected, strict=True):
        assert ours == theirs, ascii(text)
    joined = [text.decode() for text in model.join(tf.ragged.constant(ids, tf.int32, ragged_rank=1)).numpy()]
    assert joined == describe_reference(model).decode(expected)
    return joined


@pytest.mark.parametrize("kind", KINDS)
def test_the_special_tokens_come_first(kind):
    model = learned(kind)
    assert model.tokens[:4] == ("<pad>", "<unk>", "<s>", "</s>")
    assert (model.start_id, model.end_id, tuple(model.suppressed_ids)) == (2, 3, (0, 1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_texts_in_any_order_give_the_same_model(kind):
    again = SentencePieceModel.train(TEXTS[::-1], size=150, model_type=kind)
    assert again.content == learned(kind).content


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_ids_equal_the_reference_on_difficult_texts(kind, byte_fallback):
    model = learned(kind, size=400, byte_fallback=byte_fallback)
    choose = random.Random(7)
    some = ["".join(chr(choose.randrange(1, 0xD800)) for _ in range(choose.randrange(20))) for _ in range(300)]
    equals_reference(model, NASTY + some)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_ids_equal_the_reference_on_real_sentences(shared, kind):
    folder = shared / "multi30k"
    if not folder.is_dir():
        pytest.skip("needs Multi30k, expected in ../shared/data/multi30k beside the project")
    texts = [line for name in ("val.en", "val.de") for line in (folder / name).read_text(encoding="utf-8").split("\n")]
    model = SentencePieceModel.train(texts, size=2000, model_type=kind)
    assert equals_reference(model, texts) == [normalized(model, text) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_known_texts_round_trip(kind):
    model = learned(kind)
    texts = ["A man,  in a blue shirt. ", "Männer"] if kind != "word" else ["  ladder.  man", "Mann"]
    assert equals_reference(model, texts) == [normalized(model, text) for text in texts]


def test_every_text_round_trips_with_byte_fallback():
    model = learned(size=400, byte_fallback=True)
    texts = ["😀 中文", "ѣ", "\u0301 ∞"]
    assert equals_reference(model, texts) == texts


def test_invalid_utf8_is_read_as_blanks():
    model = learned()
    broken = [b"Mann\xffMann", b"Mann\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80Mann"]
    assert [text.decode() for text in model.join(model.split(broken)).numpy()] == ["Mann Mann", "Mann", "", "Mann"]
    assert model.split(broken).to_list() == describe_reference(model).encode(
        [text.decode(errors="replace") for text in broken]
    )


def test_incomplete_byte_sequences_are_joined_to_text():
    model = learned(size=400, byte_fallback=True)
    first = model.tokens.index("<0xF0>")
    assert model.join([[first, first + 1, model.tokens.index("a")]]).numpy()[0].decode() == "\ufffd\ufffda"


def test_very_long_texts_are_cut():
    model = learned("word")
    ids = model.split(["Mann " * MAX_TEXT_BYTES]).to_list()[0]
    assert ids == [model.tokens.index("▁Mann")] * (MAX_TEXT_BYTES // 5) + [1]


def test_ids_without_a_piece_are_dropped():
    model = learned()
    man = model.split(["Mann"]).to_list()[0]
    padded = [[2, *man, 3, 0, 0], [0, -1, 10**6, 2, 3, *man], [0] * (len(man) + 4)]
    rows = [row + [0] * (max(map(len, padded)) - len(row)) for row in padded]
    for ids in (rows, tf.constant(rows, tf.int64), tf.ragged.constant(padded)):
        assert model.join(ids).numpy().tolist() == [b"Mann", b"Mann", b""]
    assert model.join(tf.zeros([2, 0], tf.int32)).numpy().tolist() == [b"", b""]
    assert model.join(tf.zeros([0, 3], tf.int32)).shape == [0]


def test_an_unknown_token_is_decoded_visibly():
    model = learned("word")
    assert model.join(model.split(["Mann zebra Mann"])).numpy()[0].decode() == "Mann ⁇  Mann"


def test_tokens_have_readable_names():
    model = learned("word")
    ids = [[2, model.tokens.index("▁Mann"), 3], [1, 0, 999]]
    assert model.names(ids).numpy().tolist() == [[b"<s>", "▁Mann".encode(), b"</s>"], [b"<unk>", b"", b""]]
    assert model.names(tf.ragged.constant([[3], [], [1, 0]])).to_list() == [[b"</s>"], [], [b"<unk>", b""]]


def test_fewer_tokens_are_learned_if_there_are_no_more():
    assert len(SentencePieceModel.train(["a b"], size=8000).tokens) < 20


def test_the_vocabulary_can_be_read():
    lines = learned().vocabulary.splitlines()
    assert lines[:5] == ["<pad>\t0", "<unk>\t0", "<s>\t0", "</s>\t0", f"{learned().tokens[4]}\t-0"]
    assert len(lines) == 150


def test_training_prints_nothing(capfd):
    SentencePieceModel.train(TEXTS, size=100)
    with pytest.raises(ConfigError):
        SentencePieceModel.train(TEXTS, size=10)
    assert capfd.readouterr() == ("", "")


def test_a_vocabulary_smaller_than_all_characters_is_refused():
    with pytest.raises(ConfigError) as raised:
        SentencePieceModel.train(TEXTS, size=20, key="target_vocabulary_size")
    assert raised.value.key == "target_vocabulary_size"
    assert str(raised.value) == (
        "there is no room for all characters: expected `target_vocabulary_size` of at least 42, received 20. "
        "Raise `target_vocabulary_size`, or lower `character_coverage`."
    )
    assert len(SentencePieceModel.train(TEXTS, size=42).tokens) == 42
    with pytest.raises(ConfigError, match="the vocabulary cannot be learned"):
        SentencePieceModel.train(TEXTS, size=1)


def test_rare_characters_may_be_unknown():
    texts = ["a man"] * 20 + ["q"]
    assert learned_characters(texts, 1.0) - learned_characters(texts, 0.985) == {"q"}


@pytest.mark.parametrize("texts", [[], [""], [" ", "\u200b"], ["x" * (MAX_TEXT_BYTES + 1)]])
def test_texts_without_words_are_refused(texts):
    with pytest.raises(
        DataError, match="there are no words to learn a vocabulary from.*received [012] texts"
    ) as raised:
        SentencePieceModel.train(texts, size=100)
    assert "Check the source's `fields`, or name a .model file" in str(raised.value)


def test_a_file_is_read(tmp_path):
    (tmp_path / "my.model").write_bytes(learned().content)
    assert SentencePieceModel.read(tmp_path / "my.model").tokens == learned().tokens
    missing = "cannot read the SentencePiece model .No such file.*"
    with pytest.raises(DataError, match=f"no.model: {missing}Did you mean `.*my.model`"):
        SentencePieceModel.read(tmp_path / "no.model")
    with pytest.raises(DataError, match=f"{missing}Correct the path"):
        SentencePieceModel.read(tmp_path / "elsewhere" / "other.bin")


@pytest.mark.parametrize("damage", ["empty", "half", "text"])
def test_a_damaged_file_is_named(tmp_path, damage):
    content = {"empty": b"", "half": learned().content[:2000], "text": b"<unk>\t0\n"}[damage]
    (tmp_path / "my.model").write_bytes(content)
    with pytest.raises(DataError, match=f"my.model: not a SentencePiece model: .*received {len(content)} bytes"):
        SentencePieceModel.read(tmp_path / "my.model")


def test_a_model_without_required_special_tokens_is_refused(tmp_path):
    with open(tmp_path / "my.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_writer=file, vocab_size=50, minloglevel=2
        )
    with pytest.raises(DataError) as raised:
        SentencePieceModel.read(tmp_path / "my.model")
    assert str(raised.value) == (
        f"{tmp_path}/my.model: the SentencePiece model lacks special tokens: expected padding 0, and some start and "
        "end, received padding -1, start 1, end 2. Sequences are padded with 0: train it with --pad_id=0 --unk_id=1 "
        "--bos_id=2 --eos_id=3."
    )
