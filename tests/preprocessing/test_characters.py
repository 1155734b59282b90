"""Normalization of characters, and differences to the tokenizers of tensorflow-text."""

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.preprocessing.characters import ALONE, DROPPED, LETTER, SPACE, Characters


def become(character: str, **folding: bool) -> tuple[int, str]:
    kinds, code_points = Characters(**{"lower_case": True, "strip_accents": True, **folding})(
        tf.constant([ord(character)])
    )
    kept = [chr(code) for kind, code in zip(kinds[0].numpy(), code_points[0].numpy(), strict=True) if kind != DROPPED]
    return int(kinds[0, 0]), "".join(kept)


@pytest.mark.parametrize(
    ("character", "kind", "text"),
    [
        ("a", LETTER, "a"),
        ("É", LETTER, "e"),
        ("Σ", LETTER, "σ"),
        ("한", LETTER, "\u1112\u1161\u11ab"),
        ("|", ALONE, "|"),
        ("，", ALONE, "，"),
        ("中", ALONE, "中"),
        ("\uf900", ALONE, "\u8c48"),
    ],
)
def test_characters_are_replaced(character, kind, text):
    assert become(character) == (kind, text)


@pytest.mark.parametrize("character", [" ", "\n", "\u00a0", "\u2028", "\u3000"])
def test_white_space_separates_words(character):
    assert become(character)[0] == SPACE


@pytest.mark.parametrize("character", ["\0", "\x0b", "\x85", "\u200b", "\u0301", "\ufffd", "\ue000"])
def test_characters_are_dropped(character):
    assert become(character)[0] == DROPPED


def test_case_and_accents_are_independent_options():
    assert become("É", lower_case=False) == (LETTER, "E")
    assert become("É", strip_accents=False) == (LETTER, "é")
    assert become("É", lower_case=False, strip_accents=False) == (LETTER, "É")
    assert become("İ", strip_accents=False) == (LETTER, "i\u0307")


def test_equal_settings_have_equal_fingerprints():
    first, second, other = (Characters(lower_case=case, strip_accents=True) for case in (True, True, False))

    assert first.fingerprint == second.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("text", "reference", "tf_text_has"),
    [
        ("a，b", ["a", "，", "b"], ["a", ",", "b"]),  # it folds compatibility forms too (NFKC)
        ("ﬁn", ["ﬁn"], ["fin"]),
        ("ß", ["ß"], ["ss"]),
        ("ς", ["ς"], ["σ"]),
        ("a\x00b", ["ab"], ["a", "b"]),  # control characters part words
        ("a\ufffdb", ["ab"], ["a\ufffdb"]),  # and these stay
        ("a\ue000b", ["ab"], ["a\ue000b"]),
        ("a\u2e43b", ["a\u2e43b"], ["a", "\u2e43", "b"]),  # its Unicode is newer: more is punctuation,
        ("a\U0001e944b", ["a\U0001e944b"], ["ab"]),  # and more are marks
        ("a\U0002b820b", ["a\U0002b820b"], ["a", "\U0002b820", "b"]),  # the reference's Chinese range begins later
    ],
)
def test_where_fast_bert_tokenizer_differs(text, reference, tf_text_has):
    pieces = sorted({"[UNK]", *reference, *tf_text_has, *(f"##{piece}" for piece in (*reference, *tf_text_has))})
    fast = tf_text.FastBertTokenizer(pieces, lower_case_nfd_strip_accents=True, token_out_type=tf.string)

    assert [piece.decode() for piece in fast.tokenize([text]).to_list()[0]] == tf_text_has != reference


def test_fast_bert_tokenizer_limits_words_by_bytes():
    fast = tf_text.FastBertTokenizer(["[UNK]", "ж", "##ж"], lower_case_nfd_strip_accents=True, token_out_type=tf.string)

    assert fast.tokenize(["ж" * 50]).row_lengths().numpy().tolist() == [50]
    assert fast.tokenize(["ж" * 51]).to_list() == [[b"[UNK]"]]
