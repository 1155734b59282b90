"""Published vocabularies of pieces: ids, codes, special tokens and texts; what is saved is read."""

import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tests.preprocessing.published_tokens import (
    CODE,
    DOG,
    END,
    MAN,
    PAD,
    ROWS,
    SHARP_S,
    UNKNOWN,
    A,
    tokenizer,
    trained,
    vocabulary,
)
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.published_pieces import PublishedPieces
from tfattn.preprocessing.published_vocabulary import PublishedVocabulary
from tfattn.preprocessing.sentencepiece import SentencePiece


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("a dog", [A, DOG]),
        ("  a   dog ", [A, DOG]),
        ("", []),
        ("a cat", [A, UNKNOWN]),
        # The model does not have the word, but the vocabulary does.
        ("a ß", [A, SHARP_S]),
        (">>fra<< a dog", [CODE, A, DOG]),
        (">>fra<<a", [CODE, A]),
        (">>deu<< a", [UNKNOWN, A]),
        (">>fra<<", [CODE]),
        ("a >>fra<<", [A, UNKNOWN]),
    ],
)
def test_pieces_have_the_ids_of_the_vocabulary(text, ids):
    assert PublishedPieces(vocabulary()).split([text]).to_list() == [ids]


def test_codes_are_only_read_where_a_vocabulary_has_them():
    assert PublishedPieces(vocabulary(has_codes=False)).split([">>fra<< a"]).to_list() == [[UNKNOWN, A]]


def test_texts_are_joined_without_special_tokens():
    pieces = PublishedPieces(vocabulary())
    ids = [[PAD, A, DOG, SHARP_S, UNKNOWN, END], [END, END, -1, 99, CODE, MAN]]
    assert pieces.join(ids).numpy().tolist() == ["a dog ß".encode(), b">>fra<< man"]
    assert pieces.names([[END, DOG, 99]]).numpy().tolist() == [[b"</s>", "▁dog".encode(), b""]]


def test_unknown_pieces_are_counted():
    count, words = PublishedPieces(vocabulary()).unknown(["a cat dog", ">>deu<< a"])
    assert (count.numpy(), words.numpy().tolist()) == (4, [b"cat"])


def test_sequences_start_and_end_with_the_published_tokens():
    pieces = tokenizer(max_length=4)
    features = pieces({"source": tf.constant(["a dog", "a dog a dog a"]), "target": tf.constant(["a", ""])})
    assert features["token_ids"].to_list() == [[A, DOG, END], [A, DOG, A, END]]
    assert features["target_ids"].to_list() == [[PAD, A, END], [PAD, END]]
    assert (pieces.start_id, pieces.end_id, pieces.suppressed_ids) == (PAD, END, (PAD,))
    assert pieces.sizes == {"vocabulary_size": 15, "target_vocabulary_size": 15}


def test_a_prefix_is_before_sources_that_are_not_empty():
    pieces = tokenizer(prefix="two ")
    ids = pieces({"source": tf.constant(["dogs", "", "  "]), "target": tf.constant(["dogs", "", ""])})
    assert pieces.token_names(ids["token_ids"]).to_list()[0] == ["▁two".encode(), "▁dogs".encode(), b"</s>"]
    assert ids["token_ids"].to_list()[1:] == [[END], [END]]
    assert ids["target_ids"].row_lengths().numpy().tolist() == [3, 2, 2]


@pytest.mark.parametrize("sides", [1, 2])
def test_contract(tmp_path, sides):
    target = vocabulary(content=trained([row["target"] for row in ROWS]))
    check_preprocessor(
        tokenizer(*[vocabulary(), target][:sides], max_length=9, prefix="two "),
        SentencePiece(),
        ROWS,
        folder=tmp_path,
    )
    names = ["sentencepiece"] if sides == 1 else ["source", "target"]
    expected = {"tokenizer_config.json", *(f"{name}.{ending}" for name in names for ending in ("model", "json"))}
    assert {path.name for path in (tmp_path / "saved").iterdir()} == expected


def test_a_vocabulary_must_be_adopted():
    assert SentencePiece(vocabulary="pretrained").needs_pretrained
    with pytest.raises(ConfigError, match="no pretrained model whose vocabulary could be used"):
        SentencePiece(vocabulary="pretrained").fit(ROWS)
    adopted = tokenizer()
    assert not adopted.needs_pretrained and list(adopted.adopted) == ["vocabulary 0"]
    assert tokenizer(vocabulary(suppressed_ids=())).adopted != adopted.adopted


def test_special_tokens_outside_of_the_vocabulary_are_refused(tmp_path):
    with pytest.raises(DataError, match="here: the start token is not in the vocabulary: expected an id from 0 to 14"):
        vocabulary(start_id=15).check("here")
    vocabulary(suppressed_ids=(99,)).write(tmp_path, "pieces")
    with pytest.raises(DataError, match="pieces.json: the suppressed token is not in the vocabulary.*received 99"):
        PublishedVocabulary.read(tmp_path, "pieces")
