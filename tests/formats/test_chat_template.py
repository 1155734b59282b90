"""Chats as one text: as SmolLM2's template writes them, with what the assistant writes told apart."""

from tfattn.formats.chat_template import ChatTemplate, Message

CHAT = [Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "Bye")]


def written(pieces):
    return "".join(piece.text for piece in pieces)


def test_messages_are_between_their_tokens():
    text = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"
    assert written(ChatTemplate().pieces(CHAT, is_answered=True)) == text
    assert written(ChatTemplate().pieces(CHAT, is_answered=False)) == f"{text}<|im_start|>assistant\n"


def test_the_assistant_writes_its_answers_and_their_ends():
    pieces = ChatTemplate().pieces(CHAT, is_answered=True)
    assert written(piece for piece in pieces if piece.is_answer) == "Hello.<|im_end|>"
    assert {piece.text for piece in pieces if piece.is_special} == set(ChatTemplate().special_tokens)


def test_a_system_speaks_first_unless_the_chat_has_one():
    template = ChatTemplate(system="Be brief.")
    first = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi"
    assert written(template.pieces(CHAT, is_answered=True)).startswith(first)
    own = [Message("system", "Be kind."), *CHAT]
    assert template.pieces(own, is_answered=True) == ChatTemplate().pieces(own, is_answered=True)
