"""SentencePiece of whole texts: ids equal to the packages sentencepiece and tokenizers, lossless, with prefixes."""

import functools
import io

import pytest
import sentencepiece
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from tests.contracts.preprocessor import check_preprocessor
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.piece_bpe import PieceBpe
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.preprocessing.sentencepiece_proto import CONTROL, UNKNOWN, USER_DEFINED, Piece, Proto

ROWS = [
    {"text": "The pump's seal leaks; the pumps' seals leaked 19 times, then 20 times.\n\n\tThe end."},
    {"text": "Die Pumpe läuft über, die Pumpen laufen über.\n\n泵漏了，泵漏了。\n"},
]
# The settings of Llama 2 and Mistral, and of Gemma.
LLAMA = {"add_dummy_prefix": True, "unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
GEMMA = {
    "add_dummy_prefix": False,
    "pad_id": 0,
    "eos_id": 1,
    "bos_id": 2,
    "unk_id": 3,
    "user_defined_symbols": ["<table>", "▁▁", "▁▁▁", "\n\n"],
}
MODELS = pytest.mark.parametrize("kind", ["llama", "gemma"])
TELLING = "pumseal  \n\t▁läuft泵漏é\u0301\0\u200b\ufeff\ufffd\U0001f600<table>x0A"
texts = st.lists(st.text(st.sampled_from(TELLING) | st.characters(exclude_categories=["Cs"]), max_size=12), max_size=20)


@functools.cache
def trained(kind):
    """Return the content of a model."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for row in ROWS for line in row["text"].split("\n")] * 3),
        model_writer=buffer,
        model_type="bpe",
        vocab_size=380,
        hard_vocab_limit=False,
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        minloglevel=2,
        **(LLAMA if kind == "llama" else GEMMA),
    )
    return buffer.getvalue()


@functools.cache
def tokenizer(kind, **options):
    found = PieceBpe(max_length=24)
    read = PieceVocabulary.read(trained(kind), where=kind)
    found.adopt(vocabulary=read, end_token="</s>", start_token="<s>", chat_format=None)
    found.fit([])
    return found


@functools.cache
def graph_of(found):
    def both(texts):
        return found.split(texts), found.split_documents(texts)

    return tf.function(both, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


def encode(found, *some):
    """Return the ids of texts, and of documents without their start token."""
    continued, documents = graph_of(found)(tf.constant(some, tf.string))
    return continued.to_list(), [ids[len(found.start_ids) :] for ids in documents.to_list()]


def decode(found, ids):
    return [text.decode() for text in found.detokenize(tf.ragged.constant(ids, tf.int32, ragged_rank=1)).numpy()]


def generated_merges(pieces):
    """Return merges from scores, as transformers converts them: of all pairs, by the score of what they make."""
    scores = {piece.text: piece.score for piece in pieces}
    found = []
    for token, score in scores.items():
        cuts = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        local = [(*cut, score) for cut in cuts if cut[0] in scores and cut[1] in scores]
        found += sorted(local, key=lambda merge: (list(scores).index(merge[0]), list(scores).index(merge[1])))
    return [merge[:2] for merge in sorted(found, key=lambda merge: merge[2], reverse=True)]


@functools.cache
def converted(kind):
    """Return a tokenizer of the package `tokenizers`, as tokenizer.json of Llama 2 and of Gemma."""
    pieces = Proto.decode(trained(kind), "").pieces
    normal = [piece for piece in pieces if piece.kind not in (CONTROL, UNKNOWN, USER_DEFINED)]
    ids = {piece.text: number for number, piece in enumerate(pieces)}
    model = models.BPE(ids, generated_merges(normal), unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    found = Tokenizer(model)
    to_blanks = normalizers.Replace(" ", "▁")
    if kind == "llama":
        found.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), to_blanks])
    else:
        found.normalizer = to_blanks
        found.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        found.add_tokens([AddedToken(name, special=False, normalized=True) for name in GEMMA["user_defined_symbols"]])
    return found


def test_preprocessor_contract(tmp_path):
    check_preprocessor(tokenizer("llama"), PieceBpe(start_token=None), ROWS, folder=tmp_path)


@MODELS
@settings(deadline=None)
@given(texts)
def test_ids_equal_sentencepiece_and_texts_round_trip(kind, some):
    found = tokenizer(kind)
    reference = sentencepiece.SentencePieceProcessor(model_proto=trained(kind))
    continued, documents = encode(found, *some)
    assert documents == [reference.encode(text) for text in some]
    restored = [text.replace("▁", " ") for text in some]  # this character cannot be told from a blank
    assert decode(found, continued) == restored
    prefix = " " if kind == "llama" else ""
    assert decode(found, documents) == [text and prefix + text for text in restored]


@MODELS
@settings(deadline=None)
@given(texts)
def test_ids_equal_the_package_tokenizers(kind, some):
    _, documents = encode(tokenizer(kind), *some)
    assert documents == [converted(kind).encode(text).ids for text in some]


@MODELS
def test_merges_give_the_ids_of_scores(kind):
    pieces = Proto.decode(trained(kind), "").pieces
    kinds = {piece.text: piece.kind for piece in pieces if piece.kind in (CONTROL, UNKNOWN, USER_DEFINED)}
    merges = generated_merges([piece for piece in pieces if piece.text not in kinds])
    prefix = "always" if kind == "llama" else "never"
    vocabulary = PieceVocabulary.of_merges([piece.text for piece in pieces], merges, kinds=kinds, prefix=prefix)
    other = PieceBpe()
    other.adopt(vocabulary=vocabulary, end_token="</s>", start_token="<s>", chat_format=None)
    other.fit([])
    some = [row["text"] for row in ROWS] + ["  two  blanks ", "<table>", "\n\n\n", "é\u0301\0x"]
    assert encode(other, *some) == encode(tokenizer(kind), *some)


def test_a_prefix_may_depend_on_the_start():
    found = PieceBpe()
    read = PieceVocabulary.read(trained("llama"), where="")
    found.adopt(
        vocabulary=PieceVocabulary(read.proto, "unless_blank"), end_token="</s>", start_token=None, chat_format=None
    )
    found.fit([])
    reference = sentencepiece.SentencePieceProcessor(model_proto=trained("llama"))
    _, documents = encode(found, "pump", " pump", "▁pump", "")
    assert documents == [reference.encode("pump")] * 3 + [[]]
    assert [ids.tolist() for ids in found.encode_documents(["pump", " pump", ""])] == [documents[0], documents[1], []]


def test_documents_start_with_their_token():
    found = tokenizer("llama")
    (ids,) = found({"text": tf.constant(["pump " * 40])})["token_ids"].to_list()
    (whole,) = found.split_documents(tf.constant(["pump " * 40])).to_list()
    assert whole[0] == 1 and len(ids) == 24 and ids == [1, *whole[-23:]]
    assert found.truncated({"text": tf.constant(["pump", "pump " * 40])}).numpy().tolist() == [False, True]
    assert [ids.tolist() for ids in found.encode_documents(["pump " * 40])] == [whole]


def test_special_tokens_are_not_parsed_in_texts():
    found = tokenizer("llama")
    assert not {0, 1, 2} & set(encode(found, "<s></s><unk>")[0][0])
    assert (found.end_id, found.special_token_id("<s>"), found.special_token_id("pump")) == (2, 1, None)
    assert found.suppressed_ids == (0, 1)


def test_pieces_are_added_and_filled_up():
    read = PieceVocabulary.read(trained("llama"), where="")
    size = len(read.tokens)
    kinds = {"<|im_start|>": CONTROL, "<think>": USER_DEFINED}
    changed = read.with_kinds(kinds, {"<|im_start|>": size, "<think>": size + 2}, size=size + 4)
    assert changed.tokens[size:] == ("<|im_start|>", f"<unused_{size + 1}>", "<think>", f"<unused_{size + 3}>")
    found = PieceBpe()
    found.adopt(vocabulary=changed, end_token="</s>", start_token=None, chat_format=None)
    found.fit([])
    assert encode(found, "<think>")[0] == [[size + 2]]
    assert found.special_token_id("<|im_start|>") == size and found.sizes == {"vocabulary_size": size + 4}


def test_a_vocabulary_without_an_unknown_piece(tmp_path):
    pieces = [piece for piece in Proto.decode(trained("llama"), "").pieces if piece.kind != UNKNOWN]
    found, again = PieceBpe(), PieceBpe()
    vocabulary = PieceVocabulary.of_pieces(pieces, prefix="always")
    found.adopt(vocabulary=vocabulary, end_token="</s>", start_token=None, chat_format=None)
    found.fit([])
    found.save(tmp_path)
    again.load(tmp_path)
    assert again.tokens == found.tokens == [piece.text for piece in pieces]
    assert encode(again, "pump 泵é") == encode(found, "pump 泵é")


@pytest.mark.parametrize("content", [b"", b"\x0a\x05ab", b"no model", b"\x0a\x02\x0a\x80"])
def test_damaged_models_are_refused(content):
    with pytest.raises(DataError, match=r"some.model: not a SentencePiece model: .*incomplete file"):
        PieceVocabulary.read(content, where="some.model")


def test_models_that_drop_blanks_are_refused():
    proto = Proto((Piece("<unk>", 0.0, UNKNOWN),), b"", b"")
    with pytest.raises(DataError, match="drops blanks.*expected a SentencePiece model with remove_extra_whitespaces"):
        PieceVocabulary.read(proto.encode(), where="some.model")


def test_a_vocabulary_is_required():
    with pytest.raises(ConfigError, match="no pretrained model whose vocabulary"):
        PieceBpe().fit([])


def test_the_file_of_a_vocabulary(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(trained("llama"))
    found = PieceBpe(vocabulary=str(tmp_path / "tokenizer.model"))
    found.fit([])
    assert encode(found, "pump") == encode(tokenizer("llama"), "pump")
    wrong = PieceBpe(vocabulary=str(tmp_path / "tokenizer.model"), end_token="<eos>")
    with pytest.raises(DataError, match="lacks special tokens: expected <eos>, <s>, received .* without <eos>"):
        wrong.fit([])
