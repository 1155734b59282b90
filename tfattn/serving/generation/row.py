"""One text while it is written: its tokens, what was told of it, and when it ends."""

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

import numpy as np

from tfattn.errors import ServingError
from tfattn.guidance.guide import Guide
from tfattn.serving.generation.drafts import Drafts
from tfattn.serving.generation.piece import FinishReason, Piece, Token, Usage
from tfattn.serving.generation.text_writer import TextWriter
from tfattn.serving.generation.token_rules import TokenRules


class Row:
    """A text that is wanted.

    Args:
        index: its number in its request.
        prompt_ids: (P,) int32.
        settings: as `Settings.complete` returns them.
        seed: from which it is drawn.
        limit: the most tokens that it may have.
        end_ids: tokens each of which ends it.
        rules: which tokens the request allows.
        vocabulary_size: V.
        logit_bias: what is added to the logits of tokens, by their numbers.
        stops: its stop strings.
        likeliest: how many of the likeliest tokens are told of each place; None tells no probabilities at all.
        guide: what it must be; None where it may be anything.
        has_drafts: whether its next tokens are guessed.

    Attributes:
        logit_bias: as it is given.
        is_free: whether every token may come next, always.
        num_read: how many of its tokens have keys and values in the cache.
        num_cached: how many of these did not have to be read.
        finish_reason: why it ended; None while it is written.
    """

    def __init__(
        self,
        index: int,
        prompt_ids: np.ndarray,
        *,
        settings: Mapping[str, float],
        seed: int,
        limit: int,
        end_ids: frozenset[int],
        rules: TokenRules,
        vocabulary_size: int,
        logit_bias: Mapping[int, float],
        stops: Sequence[str] = (),
        likeliest: int | None = None,
        guide: Guide | None = None,
        has_drafts: bool = True,
    ):
        self.index, self.prompt_ids, self.settings, self.seed = index, prompt_ids, settings, seed
        self.likeliest, self.logit_bias = likeliest, logit_bias
        self._guide, self._rules, self._vocabulary_size = guide, rules, vocabulary_size
        self.num_read = self.num_cached = 0
        self.finish_reason: FinishReason | None = None
        self._limit, self._end_ids = limit, end_ids
        self._writer = TextWriter(stops)
        self._token_ids: list[int] = prompt_ids.tolist()  # and what is written behind them
        # What a guess may be depends on guide and rules, which are asked for one token at a time.
        self.is_free = guide is None and rules.allow_everything
        self._drafts = Drafts() if has_drafts and self.is_free else None
        self._num_bytes = 0
        self._untold: deque[tuple[int, Token]] = deque()  # tokens, and where the bytes of each begin

    @property
    def mask(self) -> Future[np.ndarray] | None:
        """The tokens that the guide allows next, (V,) bool, once they are known; None without a guide."""
        return self._guide.mask if self._guide is not None else None

    def allowed(self) -> np.ndarray:
        """Return the tokens that may come next, (V,) bool; waits for `mask`.

        Raises:
            ServingError: no token may come next, or it could not be found out which may.
        """
        written = self._token_ids[len(self.prompt_ids) :]
        allowed = self._rules.mask(written, vocabulary_size=self._vocabulary_size)
        if self.mask is not None:
            allowed &= self.mask.result()
        if not allowed.any():
            raise ServingError(
                "no token may come next",
                where=f"token {self.num_written + 1} of the text",
                expected="a token that allowed_token_ids, bad_words, min_tokens and what guides the text all allow",
                remedy="Allow more tokens, such as those that end a text.",
            )
        return allowed

    @property
    def last_id(self) -> int:
        """The token that is to be read next to go on."""
        return self._token_ids[-1]

    @property
    def read_ids(self) -> np.ndarray:
        """The tokens (S,) that have been read."""
        return np.array(self._token_ids[: self.num_read], np.int32)

    @property
    def num_written(self) -> int:
        """How many tokens it has, without its prompt and its end."""
        return len(self._token_ids) - len(self.prompt_ids)

    def guesses(self, most: int) -> list[int]:
        """Guess the tokens that come next, fewer than it may still have."""
        most = min(most, self._limit - self.num_written - 1)
        return self._drafts.propose(self._token_ids, most=most) if self._drafts is not None and most > 0 else []

    def learn(self, num_guessed: int, num_right: int) -> None:
        """Hear how many of its guesses were right."""
        if self._drafts is not None:
            self._drafts.learn(num_guessed, num_right)

    def add(self, token_id: int, token: bytes, told: Token | None) -> Piece | None:
        """Add a token that was drawn, by which time the one before it has been read.

        Args:
            token_id: its number.
            token: its bytes.
            told: what is told of it, where probabilities are asked for.

        Returns:
            what the text has more than before; None where that is nothing.

        Raises:
            ServingError: it could not be found out which tokens may come next.
        """
        self.num_read += 1
        if token_id in self._end_ids:
            return self._ended("stop", self._writer.end())
        self._token_ids.append(token_id)
        if self._guide is not None:
            self._guide.advance(token_id)
        if told is not None:
            self._untold.append((self._num_bytes, told))
        self._num_bytes += len(token)
        text = self._writer.add(token, may_stop=self.num_written > self._rules.min_tokens)
        if self._writer.is_stopped:
            return self._ended("stop", text)
        if self._guide is not None and self._guide.is_finished:
            return self._ended("stop", text + self._writer.end())
        if self.num_written == self._limit:
            return self._ended("length", text + self._writer.end())
        tokens = self._certain()
        return Piece(self.index, text, tokens) if text or tokens else None

    def _ended(self, reason: FinishReason, text: str) -> Piece:
        self.finish_reason = reason
        usage = Usage(len(self.prompt_ids), self.num_cached, self.num_written)
        return Piece(self.index, text, self._certain(), reason, usage)

    def _certain(self) -> tuple[Token, ...]:
        """Return the tokens that have not been told and of which the first byte was."""
        tokens, until = [], self._writer.num_bytes
        while self._untold:
            start, token = self._untold[0]
            if start > until or (start == until and token.text):
                break
            tokens.append(token)
            self._untold.popleft()
        return tuple(tokens)
