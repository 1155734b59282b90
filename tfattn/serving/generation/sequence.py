"""A sequence: the state of one generated text, from its prompt to its last token."""

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as TokenIds
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from tfattn.errors import ServingError
from tfattn.guidance.guide import Guide
from tfattn.guidance.triggered_guide import TriggeredGuide
from tfattn.sampling_params import SamplingParams
from tfattn.serving.generation.output import Detokenizer, FinishReason, OutputChunk, Token, Usage


@dataclass(frozen=True, kw_only=True)
class TokenRules:
    """Rules of a request on the next token of a sequence.

    Attributes:
        allowed_ids: the only allowed tokens; None allows all.
        banned: banned token sequences: the last token of each may not follow the others.
        min_tokens: the number of tokens before a token of `end_ids` or a stop string may end the text.
        end_ids: the tokens that end the text.

    Example:
        >>> TokenRules(banned=((1, 2),)).mask([0, 1], vocabulary_size=4)
        array([ True,  True, False,  True])
    """

    allowed_ids: tuple[int, ...] | None = None
    banned: tuple[tuple[int, ...], ...] = ()
    min_tokens: int = 0
    end_ids: frozenset[int] = frozenset()

    @property
    def allow_everything(self) -> bool:
        """Whether every token is always allowed."""
        return self.allowed_ids is None and not self.banned and not self.min_tokens

    def mask(self, generated: TokenIds[int], *, vocabulary_size: int) -> np.ndarray:
        """Return which tokens (V,) bool may follow the generated tokens."""
        mask = np.full(vocabulary_size, self.allowed_ids is None)
        mask[list(self.allowed_ids or ())] = True
        for *before, last in self.banned:
            if len(before) <= len(generated) and list(generated[len(generated) - len(before) :]) == before:
                mask[last] = False
        if len(generated) < self.min_tokens:
            mask[list(self.end_ids)] = False
        return mask


class Sequence:
    """A text of a request while it is generated.

    `prefill` records prompt tokens whose keys and values are in a cache, `append` adds a generated token, and `finish`
    ends the text. While the sequence is in the batch, exactly its last token has no keys and values yet.

    Args:
        index: its index in the request.
        prompt_ids: (P,) int32.
        params: its sampling parameters, with a seed and a limit of tokens.
        rules: which tokens the request allows, and which end the text.
        logit_bias: added to the logits of tokens, by their ids.
        guide: the constraint on the text; None without a constraint.
        speculative: whether to propose next tokens.
        echo: the text of the prompt, to be returned before the generated text; None if it is not returned.

    Attributes:
        scores_prompt: whether the log probabilities of the prompt are returned, too.
        slot: its row in the batch; None outside the batch.
        num_computed: the number of its first tokens whose keys and values are in the cache.
        num_cached: how many of them came from other sequences.
        finish_reason: why it ended; None before its end.
        is_free: whether every token is always allowed.
    """

    def __init__(
        self,
        index: int,
        prompt_ids: np.ndarray,
        params: SamplingParams,
        *,
        rules: TokenRules,
        logit_bias: Mapping[int, float],
        guide: Guide | TriggeredGuide | None = None,
        speculative: bool = True,
        echo: str | None = None,
    ):
        self.index, self.prompt_ids, self.params, self.logit_bias = index, prompt_ids, params, logit_bias
        self.slot: int | None = None
        self.num_computed = self.num_cached = 0
        self.finish_reason: FinishReason | None = None
        self.is_free = guide is None and rules.allow_everything
        self._token_ids: list[int] = prompt_ids.tolist()  # and the generated tokens
        self._rules, self._guide = rules, guide
        self._detokenizer = Detokenizer(params.stop)
        self.scores_prompt = echo is not None and params.logprobs is not None
        self._echo, self._prompt_tokens = echo, list[Token]()
        # Guide and rules give the mask of a single token, so proposals cannot be verified with them.
        self._proposer = NgramProposer() if speculative and self.is_free else None

    @property
    def num_prefill(self) -> int:
        """The number of tokens to prefill: the first step reads the last token of the prompt."""
        return len(self.prompt_ids) - 1

    @property
    def num_generated(self) -> int:
        """The number of generated tokens, without the end token."""
        return len(self._token_ids) - len(self.prompt_ids)

    @property
    def last_id(self) -> int:
        """The token that the next step reads."""
        return self._token_ids[-1]

    @property
    def computed_ids(self) -> np.ndarray:
        """The tokens (S,) whose keys and values are in the cache."""
        return np.array(self._token_ids[: self.num_computed], np.int32)

    @property
    def mask(self) -> Future[np.ndarray] | None:
        """The tokens (V,) bool that the guide allows next, possibly still being computed; None without a guide."""
        return self._guide.mask if self._guide is not None else None

    def allowed(self, vocabulary_size: int) -> np.ndarray:
        """Return which tokens (V,) bool may come next; waits for `mask`.

        Raises:
            ServingError: no token is allowed, or the guide failed.
        """
        if self.mask is not None and self._rules.allow_everything:
            return self.mask.result()
        generated = self._token_ids[len(self.prompt_ids) :]
        allowed = self._rules.mask(generated, vocabulary_size=vocabulary_size)
        if self.mask is not None:
            allowed &= self.mask.result()
        if not allowed.any():
            raise ServingError(
                "no token may come next",
                where=f"token {self.num_generated + 1} of the text",
                expected="a token that allowed_token_ids, bad_words, min_tokens and the guide of the text all allow",
                remedy="Allow more tokens, such as the end tokens.",
            )
        return allowed

    def propose(self, max_tokens: int) -> list[int]:
        """Propose next tokens, fewer than the sequence may still generate."""
        max_tokens = min(max_tokens, self.params.max_tokens - self.num_generated - 1)
        if self._proposer is None or max_tokens <= 0:
            return []
        return self._proposer.propose(self._token_ids, max_tokens=max_tokens)

    def accept(self, num_proposed: int, num_accepted: int) -> None:
        """Adapt the proposals to how many of the last ones were accepted."""
        if self._proposer is not None:
            self._proposer.update(num_proposed, num_accepted)

    def prefill(self, count: int, *, is_cached: bool = False) -> None:
        """Record that the keys and values of the next `count` prompt tokens are computed, or found in a cache."""
        self.num_computed += count
        self.num_cached += count if is_cached else 0

    def score(self, tokens: Iterable[Token]) -> None:
        """Record the log probabilities of the next prompt tokens."""
        self._prompt_tokens += tokens

    def take_echo(self) -> OutputChunk | None:
        """Return the prompt once, if it is a part of the output and has been computed."""
        echo, self._echo = self._echo, None
        return None if echo is None else OutputChunk(self.index, echo, tuple(self._prompt_tokens), is_prompt=True)

    def append(self, token_id: int, token_bytes: bytes, token: Token | None) -> OutputChunk | None:
        """Add a generated token, after a step that read the token before it.

        Args:
            token_id: its id.
            token_bytes: its bytes.
            token: its log probabilities, if the request asks for them.

        Returns:
            the new output; None if there is nothing new.

        Raises:
            ServingError: the guide failed.
        """
        self.num_computed += 1
        if self.params.max_tokens == 0:
            return self.finish("length")
        if token_id in self._rules.end_ids and (self._guide is None or self._guide.may_end_at(token_id)):
            if self.scores_prompt:  # evaluation harnesses drop the last token, and expect that it is a generated token
                self._detokenizer.add(b"", token=token._replace(text=""))
            return self.finish("stop")
        self._token_ids.append(token_id)
        may_stop = self.num_generated > self._rules.min_tokens
        if self._guide is not None:
            self._guide.advance(token_id)
            may_stop &= self._guide.may_stop
        text = self._detokenizer.add(token_bytes, token=token, may_stop=may_stop)
        if self._detokenizer.is_stopped or (self._guide is not None and self._guide.is_finished):
            return self.finish("stop", text)
        if self.num_generated == self.params.max_tokens:
            return self.finish("length", text)
        tokens = self._detokenizer.take_tokens()
        return OutputChunk(self.index, text, tokens) if text or tokens else None

    def finish(self, reason: FinishReason, text: str = "") -> OutputChunk:
        """End the sequence, and return its last output: `text` and the text that was held back."""
        self.finish_reason = reason
        if not self._detokenizer.is_stopped:
            text += self._detokenizer.end()
        usage = Usage(len(self.prompt_ids), self.num_cached, self.num_generated)
        return OutputChunk(self.index, text, self._detokenizer.take_tokens(), reason, usage)

    def check_invariants(self) -> None:
        """Raise an AssertionError where the state contradicts itself."""
        assert 0 <= self.num_cached <= self.num_prefill, "cached tokens are prompt tokens"
        assert self.num_cached <= self.num_computed <= len(self._token_ids), "a computed token exists"
        assert self.num_generated <= self.params.max_tokens, "the text keeps its limit"
        assert self._token_ids[: len(self.prompt_ids)] == self.prompt_ids.tolist(), "the prompt does not change"
        if self.slot is not None:
            assert self.finish_reason is None, "a finished sequence has left the batch"
            assert self.num_computed == len(self._token_ids) - 1, "the next step reads exactly the last token"
        elif self.finish_reason is None:
            assert self.num_generated == 0, "only the batch generates tokens"
            assert self.num_computed <= self.num_prefill, "the last token of a prompt is not prefilled"


MAX_MATCH, MIN_MATCH = 4, 2  # tokens; a match of a single token predicts little
MAX_PROPOSED = 8


class NgramProposer:
    """Proposals of the next tokens of one sequence, from earlier occurrences of its last tokens.

    A step verifies proposed tokens: it computes the next token after each of them, and keeps the proposals that match.
    The generated text is the same as without proposals, in fewer steps where it repeats itself or the prompt. The
    proposals are those of prompt lookup decoding (Saxena 2023). Leviathan et al. 2023, "Fast inference from
    transformers via speculative decoding", prove that verification keeps the distribution.

    The number of proposals adapts: it doubles after proposals that were all accepted, and halves after a rejection.

    Example:
        >>> NgramProposer().propose([1, 2, 3, 4, 5, 1, 2], max_tokens=3)
        [3, 4, 5]
    """

    def __init__(self) -> None:
        # The position after the last occurrence of each n-gram.
        self._positions: dict[tuple[int, ...], int] = {}
        self._num_indexed = 0
        self._num_proposed = MAX_PROPOSED

    def propose(self, token_ids: TokenIds[int], *, max_tokens: int) -> list[int]:
        """Propose the tokens that follow the longest earlier match of the last tokens.

        Args:
            token_ids: of prompt and text; they only grow from call to call.
            max_tokens: the most tokens to propose.
        """
        # Nothing follows the last n-grams yet, so they are not indexed.
        for end in range(self._num_indexed + 1, len(token_ids)):
            for length in range(MIN_MATCH, min(MAX_MATCH, end) + 1):
                self._positions[tuple(token_ids[end - length : end])] = end
        self._num_indexed = max(self._num_indexed, len(token_ids) - 1)
        for length in range(min(MAX_MATCH, len(token_ids)), MIN_MATCH - 1, -1):
            start = self._positions.get(tuple(token_ids[-length:]))
            if start is not None:
                return _continuation(token_ids, start, min(max_tokens, self._num_proposed))
        return []

    def update(self, num_proposed: int, num_accepted: int) -> None:
        """Adapt the number of proposals to how many of the last proposals were accepted."""
        if num_proposed and num_accepted == num_proposed:
            self._num_proposed = min(2 * self._num_proposed, MAX_PROPOSED)
        elif num_proposed:
            self._num_proposed = max(1, self._num_proposed // 2)


def count_accepted(proposed: TokenIds[int], sampled: TokenIds[int]) -> int:
    """Count the proposed tokens before the first that differs from the sampled token at its position.

    Example:
        >>> count_accepted([3, 4, 5], [3, 4, 6, 7])
        2
    """
    pairs = zip(proposed, sampled, strict=False)  # a step samples one token more than were proposed
    return next((index for index, (guess, token_id) in enumerate(pairs) if guess != token_id), len(proposed))


def _continuation(token_ids: TokenIds[int], start: int, count: int) -> list[int]:
    """Return the tokens from `start` on, repeated from there where the sequence ends."""
    period = len(token_ids) - start
    return [token_ids[start + index % period] for index in range(count)]
