"""Examples for preference optimization: the chosen and the rejected answer to a prompt."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tfattn.data.examples.chat_examples import ChatExamples
from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Randomness
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, listed
from tfattn.features import CHOSEN, LOSS_MASK, PROMPT, REJECTED, TOKEN_IDS
from tfattn.formats.chat_rows import PREFERENCE_HINT, preference_of
from tfattn.formats.chat_template import Message
from tfattn.formats.source import Row
from tfattn.preprocessing.chat_ids import piece_ids
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.preprocessor import Preprocessor

Chat = tuple[np.ndarray, np.ndarray]


class PreferencePairs(ChatExamples):
    """Pairs of chats with the same prompt: the chosen chat, then the rejected chat.

    A row has a `prompt`, its `chosen` and its `rejected` answer, texts or lists of messages; or only `chosen` and
    `rejected`, whole chats as lists of messages. The targets are the answers after the messages that both chats share.
    Chats are formatted and truncated as in `chat`. Pairs without a difference are excluded.

    Args:
        system: system message of chats without a system message; by default none.

    Raises:
        ConfigError: as ChatExamples.
    """

    made_of = "two different answers, within the `max_length` of the preprocessing"
    roles_hint = PREFERENCE_HINT
    list_roles = (PROMPT, CHOSEN, REJECTED)
    optional_roles = ()

    def __init__(self, *, system: str | None = None):
        super().__init__(packing=False, system=system)

    def choose_roles(self, given: Iterable[str]) -> None:
        given = set(given)
        if not given >= {CHOSEN, REJECTED}:
            raise ConfigError(
                "a preference needs two answers",
                key="source.fields",
                expected=f"columns of the roles {CHOSEN} and {REJECTED}, and {PROMPT}",
                received=listed(sorted(given)) or "nothing",
                remedy=PREFERENCE_HINT,
            )
        self._roles = (*((PROMPT,) if PROMPT in given else ()), CHOSEN, REJECTED)

    def excluded(self, rows: Sequence[Row], preprocessor: Language) -> np.ndarray:
        size = preprocessor.max_length + 1
        return np.array([_is_excluded(pair, size) for pair in self._pairs(rows, preprocessor)], bool)

    def truncated(self, rows: Sequence[Row], preprocessor: Language) -> np.ndarray:
        size = preprocessor.max_length + 1
        return np.array([max(len(ids) for ids, _ in pair) > size for pair in self._pairs(rows, preprocessor)], bool)

    def features(self, row: Row, preprocessor: Preprocessor, targets: Target) -> dict[str, Feature]:
        self._template(preprocessor)
        return {
            STORED_NAMES[TOKEN_IDS]: Feature("int64", (None, None)),
            LOSS_MASK: Feature("int64", (None, None), role="target"),
        }

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        size = preprocessor.max_length + 1  # all tokens but the first are targets
        for number, pair in enumerate(self._pairs(rows, preprocessor)):
            if not _is_excluded(pair, size):
                ids, is_answer = ([part[:size].tolist() for part in parts] for parts in zip(*pair, strict=True))
                yield Example(number, {STORED_NAMES[TOKEN_IDS]: ids, LOSS_MASK: is_answer})

    def _pairs(self, rows: Sequence[Row], preprocessor: Language) -> Iterator[tuple[Chat, Chat]]:
        """Yield the ids of both chats of each row, and the masks of the answers after their shared messages."""
        template = self._template(preprocessor)
        pairs = [preference_of(row.fields, row.where) for row in rows]
        chats = [template.pieces(chat, is_answered=True) for pair in pairs for chat in pair]
        tokenized = zip(chats, piece_ids(preprocessor, chats), strict=True)
        for pair in pairs:
            shared = len(template.pieces(_shared(*pair), is_answered=True))
            both = []
            for pieces, ids in (next(tokenized), next(tokenized)):
                flags = [piece.is_answer and index >= shared for index, piece in enumerate(pieces)]
                is_answer = np.repeat(flags, [len(some) for some in ids]).astype(np.int32)
                both.append((np.concatenate(ids), is_answer))
            yield both[0], both[1]


def _shared(chosen: Sequence[Message], rejected: Sequence[Message]) -> list[Message]:
    """Return the messages at the start of both chats."""
    count = next((n for n, pair in enumerate(zip(chosen, rejected, strict=False)) if pair[0] != pair[1]), None)
    return list(chosen[: min(len(chosen), len(rejected)) if count is None else count])


def _is_excluded(pair: tuple[Chat, Chat], size: int) -> bool:
    (chosen, _), (rejected, _) = pair
    has_answers = all(is_answer[:size].any() for _, is_answer in pair)
    return not has_answers or np.array_equal(chosen[:size], rejected[:size])
