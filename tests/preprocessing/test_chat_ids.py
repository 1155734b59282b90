"""Rendered chats have the tokens of chats; other texts are unchanged."""

import re

import pytest
import tensorflow as tf

from tests.preprocessing.test_byte_bpe import START, STOP, learned
from tfattn.formats.chat_template import ChatTemplate, Message
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.chat_ids import piece_ids, rendered_chat_ids, special_token_ids

CHATS = [
    [Message("user", "The pump leaks 19 times."), Message("assistant", "läuft über"), Message("user", "")],
    [Message("system", "泵漏了"), Message("user", " two  spaces\n")],
]


@pytest.mark.parametrize("traced", [False, True])
def test_a_rendered_chat_has_the_tokens_of_its_pieces(traced):
    language = learned()
    pieces = [ChatTemplate().pieces(chat, is_answered=False) for chat in CHATS]
    texts = tf.constant(["".join(piece.text for piece in chat) for chat in pieces])
    read = tf.function(rendered_chat_ids) if traced else rendered_chat_ids
    expected = [[number for ids in chat for number in ids.tolist()] for chat in piece_ids(language, pieces)]
    assert read(language, texts).to_list() == expected


@pytest.mark.parametrize("text", ["", "plain", START, f"{START}{STOP}", f"a{STOP}b", "<|im_start", f"{START}\nüber "])
def test_special_tokens_are_at_their_positions(text):
    language = learned()
    special = special_token_ids(language, ChatTemplate())
    parts = re.split(f"({re.escape(START)}|{re.escape(STOP)})", text)
    ids = [[special[part]] if part in special else language.split(tf.constant([part])).to_list()[0] for part in parts]
    found = rendered_chat_ids(language, tf.constant([text, "x"])).to_list()[0]
    assert found == [number for part in ids for number in part]


def test_a_tokenizer_without_chat_tokens_reads_them_as_text():
    language = ByteBpe(vocabulary_size=260)
    language.fit([{"text": "To be"}])
    text = tf.constant([f"{START}user"])
    assert rendered_chat_ids(language, text).to_list() == language.split(text).to_list()
    assert special_token_ids(language, ChatTemplate()) == {}
