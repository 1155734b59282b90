"""Chat templates: the formats of published models, with marked answers."""

from pathlib import Path

import pytest

from tfattn.formats.chat_template import CHAT_FORMATS, ChatTemplate, Message, Piece, recognize_format

CHAT = [Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "Bye")]
SYSTEM = Message("system", "Be brief.")
# The templates of published models, without their checks of the order of messages.
PUBLISHED = {name: (Path(__file__).parent / "chat_templates" / f"{name}.jinja").read_text() for name in CHAT_FORMATS}
NO_SYSTEM = ("mistral", "mistral_v3")


def written(pieces):
    return "".join(piece.text for piece in pieces)


def test_messages_are_between_their_tokens():
    text = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"
    assert written(ChatTemplate().pieces(CHAT, is_answered=True)) == text
    assert written(ChatTemplate().pieces(CHAT, is_answered=False)) == f"{text}<|im_start|>assistant\n"


@pytest.mark.parametrize("name", CHAT_FORMATS)
def test_answers_and_their_ends_are_marked(name):
    template = ChatTemplate(format=name, start="<s>")
    pieces = template.pieces(CHAT, is_answered=True)
    assert written(piece for piece in pieces if piece.is_answer).strip() == f"Hello.{template.end}"
    assert {piece.text for piece in pieces if piece.is_special} == set(template.special_tokens)


def test_a_default_system_message_is_added():
    template = ChatTemplate(system="Be brief.")
    first = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi"
    assert written(template.pieces(CHAT, is_answered=True)).startswith(first)
    own = [Message("system", "Be kind."), *CHAT]
    assert template.pieces(own, is_answered=True) == ChatTemplate().pieces(own, is_answered=True)


@pytest.mark.parametrize("name", CHAT_FORMATS)
def test_special_tokens_in_messages_are_text(name):
    template = ChatTemplate(format=name, start="<s>")
    said = "".join(template.special_tokens)
    pieces = template.pieces([Message("user", said), Message("assistant", said)], is_answered=False)
    texts = [piece.text for piece in pieces if not piece.is_special]
    assert sum(said in text for text in texts) == 2


@pytest.mark.parametrize("name", CHAT_FORMATS)
def test_chats_are_those_of_the_published_templates(name):
    jinja2 = pytest.importorskip("jinja2")
    start = None if name == "chatml" else "<s>"
    template = ChatTemplate(format=name, start=start)
    for messages in (CHAT, [Message("user", " two\n"), Message("assistant", "x")], [SYSTEM, *CHAT]):
        if messages[0] is SYSTEM and name in NO_SYSTEM:
            continue
        for is_answered in (False, True):
            published = jinja2.Template(PUBLISHED[name], keep_trailing_newline=True).render(
                messages=[message._asdict() for message in messages],
                add_generation_prompt=not is_answered,
                bos_token="<s>",
                eos_token="</s>",
            )
            ours = written(template.pieces(messages, is_answered=is_answered))
            # Written out here: the blank that the tokenizer puts before a text after a special token.
            assert ours.replace("> [INST]", ">[INST]") == published


@pytest.mark.parametrize("name", CHAT_FORMATS)
def test_formats_are_recognized(name):
    assert recognize_format(PUBLISHED[name]) == name


def test_other_formats_are_unknown():
    assert recognize_format("{% for message in messages %}<|user|>{{ message['content'] }}{% endfor %}") is None


@pytest.mark.parametrize("name", CHAT_FORMATS)
def test_a_description_restores_the_template(name):
    template = ChatTemplate(format=name, start="<s>", system="x")
    assert ChatTemplate.of(template.description) == template


def test_descriptions_of_earlier_exports():
    assert ChatTemplate.of({"begin": "<|im_start|>", "end": "<|im_end|>", "system": "x"}) == ChatTemplate(system="x")


def test_adjacent_texts_are_one_piece():
    pieces = ChatTemplate(format="mistral").pieces(CHAT[:1], is_answered=False)
    assert pieces == [Piece(" [INST] Hi [/INST]")]
