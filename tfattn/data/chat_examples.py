"""Questions and their answers, or whole chats, of which a model is taught to write the answers."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np

from tfattn.data.encoding import STORED_NAMES, Feature
from tfattn.data.examples import Drawing, Example, Examples
from tfattn.data.packed_texts import packed
from tfattn.data.targets import Target
from tfattn.errors import ConfigError, DataError, listed
from tfattn.features import ANSWER, LOSS_MASK, MESSAGES, PROMPT, SEQUENCE_IDS, TOKEN_IDS
from tfattn.formats.chat_template import ASSISTANT, ChatTemplate, Message, Role
from tfattn.formats.source import Row
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.chat_ids import piece_ids
from tfattn.preprocessing.preprocessor import TRAIN, Preprocessor
from tfattn.preprocessing.unknown import Unknown


class ChatExamples(Examples):
    """Makes sequences of chats, of which the answers and their ends alone are to be told.

    A row has a `prompt` and its `answer`, or `messages`: a list of objects such as {"role": "user", "content": "Hi"},
    as OpenAI's files have it, whose roles are system, user and assistant. It is written as ChatML; of a chat that is
    longer than the `max_length` of the preprocessing, the rest is cut.

    Args:
        packing: whether several chats share a sequence, told apart by `sequence_ids`; else each is one.
        messages: whether rows have `messages`.
        system: what the system says in a chat that does not begin with it; by default nothing.

    Raises:
        ConfigError: the preprocessing is not byte_bpe with a vocabulary of its own, or that lacks ChatML's tokens.
    """

    made_of = "chats"

    def __init__(self, *, packing: bool = True, messages: bool = False, system: str | None = None):
        self.packing = packing
        self.messages = messages
        self.template = ChatTemplate(system=system)
        self.list_roles = (MESSAGES,) if messages else ()

    def require(self, preprocessor: Preprocessor) -> None:
        """Refuse a preprocessor that has no special tokens for chats, or would have to learn from texts."""
        if not isinstance(preprocessor, ByteBpe) or preprocessor.vocabulary == TRAIN:
            raise ConfigError(
                "a chat is written in the tokens of a model that is trained on texts already",
                key="preprocessing",
                expected="byte_bpe with a vocabulary that is `pretrained`, or in a folder",
                received=type(preprocessor).__name__,
            )

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        return (MESSAGES,) if self.messages else (PROMPT, ANSWER)

    def excluded(self, rows: Sequence[Row], preprocessor: ByteBpe) -> np.ndarray:
        return np.zeros(len(rows), bool)

    def truncated(self, rows: Sequence[Row], preprocessor: ByteBpe) -> np.ndarray:
        return np.array([len(ids) > preprocessor.max_length + 1 for ids, _ in self._written(rows, preprocessor)])

    def unknown(self, rows: Sequence[Row], preprocessor: ByteBpe) -> dict[str, Unknown]:
        return {}

    def features(self, row: Row, preprocessor: ByteBpe, targets: Target) -> dict[str, Feature]:
        missing = [name for name in self.template.special_tokens if preprocessor.id_of(name) is None]
        if missing:
            raise ConfigError(
                "the vocabulary has no tokens that begin and end messages",
                key="preprocessing.special_tokens",
                expected=listed(self.template.special_tokens),
                received=f"a vocabulary without {listed(missing)}",
            )
        return {
            STORED_NAMES[TOKEN_IDS]: Feature("int64", (None,)),
            **({SEQUENCE_IDS: Feature("int64", (None,))} if self.packing else {}),
            LOSS_MASK: Feature("int64", (None,), role="target"),
        }

    def of(self, rows: Sequence[Row], preprocessor: ByteBpe, targets: Target, drawing: Drawing) -> Iterator[Example]:
        size = preprocessor.max_length + 1  # all but the first are told
        chats = [(ids[:size], is_answer[:size]) for ids, is_answer in self._written(rows, preprocessor)]
        lengths = [(number, 0, len(ids)) for number, (ids, _) in enumerate(chats)]
        for members in packed(lengths, room=size) if self.packing else [[one] for one in lengths]:
            ids, is_answer = (
                np.concatenate(parts) for parts in zip(*(chats[row] for row, _, _ in members), strict=True)
            )
            values = {STORED_NAMES[TOKEN_IDS]: ids, LOSS_MASK: is_answer}
            if self.packing:
                values[SEQUENCE_IDS] = np.repeat(np.arange(len(members)) + 1, [length for _, _, length in members])
            yield Example(members[0][0], values)

    def _written(self, rows: Sequence[Row], preprocessor: ByteBpe) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ids of each chat, and which of them are of answers."""
        chats = [self.template.pieces(self._chat(row), is_answered=True) for row in rows]
        for pieces, ids in zip(chats, piece_ids(preprocessor, chats), strict=True):
            is_answer = np.repeat([piece.is_answer for piece in pieces], [len(some) for some in ids])
            yield np.concatenate(ids), is_answer.astype(np.int32)

    def _chat(self, row: Row) -> list[Message]:
        if not self.messages:
            return [Message("user", row.fields[PROMPT]), Message(ASSISTANT, row.fields[ANSWER])]
        value = row.fields[MESSAGES]
        is_list = isinstance(value, list) and bool(value)
        wrong = next((one for one in value if not _is_message(one)), None) if is_list else value
        if wrong is not None:
            raise DataError(
                "the value of `messages` is no chat",
                where=row.where,
                expected='a list such as [{"role": "user", "content": "Hi"}]; roles are ' + listed(get_args(Role)),
                received=json.dumps(wrong, ensure_ascii=False)[:60],
            )
        return [Message(one["role"], one["content"]) for one in value]


def _is_message(value: Any) -> bool:
    is_told = isinstance(value, dict) and isinstance(value.get("content"), str)
    return is_told and value.get("role") in get_args(Role)
