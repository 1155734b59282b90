"""Pre-tokenization equals the reference for any text."""

import functools

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from tfattn.preprocessing.byte_vocabulary import bytes_to_unicode
from tfattn.preprocessing.pre_tokenizer import PreTokenizer

GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def cl100k(digits):
    split = pre_tokenizers.Split(Regex(CL100K % digits), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


REFERENCES = {
    "gpt2": GPT2,
    "digits": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), GPT2]),
    "llama3": cl100k(r"\p{N}{1,3}"),
    "qwen2": cl100k(r"\p{N}"),
}
PATTERNS = sorted(REFERENCES)
# What the pattern looks at, and what it may be looked at with: marks that combine, digits of other scripts, other white
# space, ends of lines, NUL, joiners, what stands in other planes.
TELLING = (
    "aAéßñ1٣५Ⅷ²  \n\t\r\x0b\x1c\x85\u00a0\u2028\u3000''''strevmld!.,-_\u0301\0\U0001f600中。\u200d\ufeff\u180e\ufffd"
)
TELLING += "STREVMLDſ"
NEW_DIGITS = [
    chr(number) for number in range(0x11DE0, 0x11DEA)
]  # which the reference counts as digits, see PreTokenizer
texts = st.lists(st.text(st.sampled_from(TELLING) | st.characters(exclude_categories=["Cs"]), max_size=12), max_size=30)


@functools.cache
def cut(pattern):
    return tf.function(PreTokenizer(pattern), input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


def pieces(pattern, *given_texts):
    return [[piece.decode() for piece in row] for row in cut(pattern)(tf.constant(given_texts, tf.string)).to_list()]


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(deadline=None)  # the first example makes the tables
@given(texts)
def test_pieces_equal_the_reference(pattern, some):
    some = [text for text in some if not set(NEW_DIGITS) & set(text)]
    expected = [[piece for piece, _ in REFERENCES[pattern].pre_tokenize_str(text)] for text in some]
    assert [[bytes_to_unicode(piece.encode()) for piece in row] for row in pieces(pattern, *some)] == expected


def test_contractions_blanks_and_line_ends():
    assert pieces("gpt2", "It's  5 o'clock,\n\n we'll") == [
        ["It", "'s", " ", " 5", " o", "'", "clock", ",", "\n\n", " we", "'ll"]
    ]
    assert pieces("gpt2", " 's", "\n's", "x's't", "''s") == [
        [" '", "s"],
        ["\n", "'s"],
        ["x", "'s", "'t"],
        ["''", "s"],
    ]


def test_digits_are_separate_pieces():
    assert pieces("digits", "in  1984's 5") == [["in", "  ", "1", "9", "8", "4", "'s", " ", "5"]]


def test_runs_of_white_space_and_marks_with_line_ends():
    assert pieces("llama3", "It'Srun  12345 \n\n  x!\n \t(a ((b'll\t\tc \n") == [
        ["It", "'S", "run", " ", " ", "123", "45", " \n\n", " ", " x", "!\n", " ", "\t", "(a", " ((", "b", "'ll"]
        + ["\t", "\tc", " \n"]
    ]
    assert pieces("qwen2", "a 2024", "\r\n'ſt") == [["a", " ", "2", "0", "2", "4"], ["\r\n", "'ſ", "t"]]


@pytest.mark.parametrize("pattern", ["llama3", "qwen2"])
def test_contractions_of_any_character(pattern):
    characters = [chr(number) for number in (*range(1, 0x2FFF), *range(0xFB00, 0xFB10), *range(0xFF21, 0xFF5B))]
    some = [f"x'{character}y" for character in characters]
    expected = [[piece for piece, _ in REFERENCES[pattern].pre_tokenize_str(text)] for text in some]
    assert [[bytes_to_unicode(piece.encode()) for piece in row] for row in pieces(pattern, *some)] == expected


def test_no_piece_crosses_two_texts():
    assert pieces("gpt2", "a'", "", "s", " ", "b") == [["a", "'"], [], ["s"], [" "], ["b"]]


def test_invalid_utf8_is_read_as_the_replacement_character():
    assert pieces("gpt2", b"a\xff b\xe2\x82") == [["a", "\ufffd", " b", "\ufffd"]]


def test_equal_tables_have_equal_fingerprints():
    assert len({PreTokenizer(pattern).fingerprint for pattern in PATTERNS}) == 1
