"""Examples for supervised fine-tuning on chats: the loss covers the answers of the assistant."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.packed_texts import packed
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, listed
from tfattn.features import INPUT, LOSS_MASK, MESSAGES, SEQUENCE_IDS, TOKEN_IDS
from tfattn.formats.chat_rows import CHAT_HINT, CHAT_ROLES, chat_of, chat_roles
from tfattn.formats.chat_template import CHAT_FORMATS, ChatTemplate
from tfattn.formats.source import Row
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.chat_ids import piece_ids
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.piece_bpe import PieceBpe
from tfattn.preprocessing.preprocessor import TRAIN, Preprocessor
from tfattn.preprocessing.unknown import Unknown


class ChatExamples(Examples):
    """Sequences of chats, whose targets are the answers of the assistant and their end tokens.

    The roles of the source are those of a format: `messages`, a list of objects such as {"role": "user", "content":
    "Hi"} in files of OpenAI, or {"from": "human", "value": "Hi"} in files of ShareGPT; `instruction`, `input` and
    `output` in files of Alpaca; or `prompt` and `answer`. The roles of messages are system, user and assistant. Chats
    are formatted by the template of the published model, or else as ChatML, and truncated to the `max_length` of the
    preprocessing.

    Args:
        packing: whether several chats share a sequence, separated by `sequence_ids`; otherwise each chat is a sequence.
        system: system message of chats without a system message; by default none.

    Raises:
        ConfigError: the preprocessing is not byte_bpe or piece_bpe with a given vocabulary, or the vocabulary lacks
            the tokens of the chat template.
    """

    made_of = "chats"
    roles_hint = CHAT_HINT
    list_roles = (MESSAGES,)
    optional_roles = (INPUT,)

    def __init__(self, *, packing: bool = True, system: str | None = None):
        self.packing = packing
        self.system = system
        self._roles: tuple[str, ...] = CHAT_ROLES["pairs"]

    def choose_roles(self, given: Iterable[str]) -> None:
        self._roles = chat_roles(given)

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor is byte_bpe or piece_bpe, with a given vocabulary."""
        if not isinstance(preprocessor, ByteBpe | PieceBpe) or preprocessor.vocabulary == TRAIN:
            raise ConfigError(
                "a chat is written in the tokens of a model that is trained on texts already",
                key="preprocessing",
                expected="byte_bpe or piece_bpe with a vocabulary that is `pretrained`, or in a folder",
                received=type(preprocessor).__name__,
            )

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        return self._roles

    def excluded(self, rows: Sequence[Row], preprocessor: Language) -> np.ndarray:
        return np.zeros(len(rows), bool)

    def truncated(self, rows: Sequence[Row], preprocessor: Language) -> np.ndarray:
        return np.array([len(ids) > preprocessor.max_length + 1 for ids, _ in self._tokenize(rows, preprocessor)])

    def unknown(self, rows: Sequence[Row], preprocessor: Language) -> dict[str, Unknown]:
        return {}

    def features(self, row: Row, preprocessor: Language, targets: Target) -> dict[str, Feature]:
        self._template(preprocessor)
        return {
            STORED_NAMES[TOKEN_IDS]: Feature("int64", (None,)),
            **({SEQUENCE_IDS: Feature("int64", (None,))} if self.packing else {}),
            LOSS_MASK: Feature("int64", (None,), role="target"),
        }

    def of(
        self, rows: Sequence[Row], preprocessor: Language, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        size = preprocessor.max_length + 1  # all tokens but the first are targets
        chats = [(ids[:size], is_answer[:size]) for ids, is_answer in self._tokenize(rows, preprocessor)]
        lengths = [(number, 0, len(ids)) for number, (ids, _) in enumerate(chats)]
        for members in packed(lengths, room=size) if self.packing else [[chat] for chat in lengths]:
            ids, is_answer = (
                np.concatenate(parts) for parts in zip(*(chats[row] for row, _, _ in members), strict=True)
            )
            values = {STORED_NAMES[TOKEN_IDS]: ids, LOSS_MASK: is_answer}
            if self.packing:
                values[SEQUENCE_IDS] = np.repeat(np.arange(len(members)) + 1, [length for _, _, length in members])
            yield Example(members[0][0], values)

    def _tokenize(self, rows: Sequence[Row], preprocessor: Language) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ids of each chat, and the mask of answer tokens."""
        template = self._template(preprocessor)
        chats = [template.pieces(chat_of(row.fields, row.where), is_answered=True) for row in rows]
        for pieces, ids in zip(chats, piece_ids(preprocessor, chats), strict=True):
            is_answer = np.repeat([piece.is_answer for piece in pieces], [len(some) for some in ids])
            yield np.concatenate(ids), is_answer.astype(np.int32)

    def _template(self, preprocessor: Language) -> ChatTemplate:
        """Return the chat template of the model."""
        if preprocessor.chat_format is None:
            raise ConfigError(
                "the chat template of the published weights is unknown",
                key="model.pretrained",
                expected=listed(CHAT_FORMATS),
                received="no template, or another one",
                remedy="Use the task language_modeling, or other weights.",
            )
        template = preprocessor.chat_template(self.system)
        if template is None:
            known = ChatTemplate(format=preprocessor.chat_format).special_tokens
            missing = [name for name in known if preprocessor.special_token_id(name) is None]
            raise ConfigError(
                "the vocabulary has no tokens that begin and end messages",
                key="preprocessing.special_tokens",
                expected=listed(known),
                received=f"a vocabulary without {listed(missing)}",
            )
        return template
