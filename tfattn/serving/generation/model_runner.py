"""The model runner: prefill of prompts in chunks, and decode steps of the batch between them."""

from collections.abc import Mapping
from concurrent.futures import wait
from typing import NamedTuple

import numpy as np

from tfattn.serving.generation.description import DECODE_STEP, PREFILL, PROMPT_LOGPROBS, Description, LanguageModel
from tfattn.serving.generation.input_batch import InputBatch
from tfattn.serving.generation.kv_cache import MIN_CAPACITY, PrefixCache, common_length, padded_size
from tfattn.serving.generation.output import Token
from tfattn.serving.generation.request import TextLimits
from tfattn.serving.generation.sequence import Sequence, count_accepted

CHUNK = 64  # prompt tokens of a chunk while running sequences wait for it
TOP_LOGPROBS = ("likeliest_ids", "likeliest_log_probabilities")
SCORED_CHUNK = 128  # the most prompt tokens whose logits are in memory at a time
# Seconds that a step waits for the masks of guided sequences. Most masks take far less. Sequences with slower masks
# skip the step, so that other sequences do not wait.
MASK_WAIT = 0.002

Sampled = list[tuple[int, Token | None]]


class Decoded(NamedTuple):
    """The result of a step for one sequence.

    Attributes:
        tokens: the next token, and one more for each accepted proposal.
        num_proposed: the number of proposals.
        keys_values: (L, 2, G, T, K) of the T tokens that were read up to the last accepted proposal.
    """

    tokens: Sampled
    num_proposed: int
    keys_values: np.ndarray


class Prefill:
    """The prefill of a sequence into a cache of its own, without the last token of the prompt.

    It computes the log probabilities of the prompt if the sequence returns them.

    Args:
        model: the language model.
        description: of the model.
        sequence: the sequence; its first tokens may be computed already.
        known: (L, 2, G, S, K), first the keys and values of these computed tokens; None if there are none.
    """

    def __init__(self, model: LanguageModel, description: Description, sequence: Sequence, known: np.ndarray | None):
        self.sequence = sequence
        self._model, self._description = model, description
        until = sequence.num_prefill
        capacity = padded_size(until, least=MIN_CAPACITY, most=max(until, MIN_CAPACITY))
        self._cache = model.new_cache(description.layout, capacity=capacity)
        if known is not None:
            self._cache.write(0, 0, known[:, :, :, : sequence.num_computed])

    @property
    def keys_values(self) -> np.ndarray:
        """The computed keys and values, (L, 2, G, S, K)."""
        return self._cache.read(0, self.sequence.num_computed)

    def run(self, max_tokens: int) -> bool:
        """Compute the next tokens, `max_tokens` at most, and return whether the prefill is complete."""
        start, until = self.sequence.num_computed, self.sequence.num_prefill
        max_tokens = min(max_tokens, SCORED_CHUNK) if self.sequence.scores_prompt else max_tokens
        end = min(start + max_tokens, until)
        token_ids = self.sequence.prompt_ids[start:end][None]
        inputs = {
            "token_ids": token_ids,
            "padding_mask": np.ones(token_ids.shape, bool),
            "lengths": np.array([start], np.int32),
            "past": self._cache.array,
        }
        outputs = self._scored(inputs, end) if self.sequence.scores_prompt else self._model.run(PREFILL, inputs)
        self._cache.write(0, start, outputs["keys_values"][:, :, 0])
        self.sequence.prefill(end - start)
        return end == until

    def _scored(self, inputs: Mapping[str, np.ndarray], end: int) -> Mapping[str, np.ndarray]:
        """Compute a chunk that ends before a position, and record the log probabilities of the tokens after each."""
        next_ids = self.sequence.prompt_ids[self.sequence.num_computed + 1 : end + 1]
        top = TOP_LOGPROBS if self.sequence.params.logprobs else ()
        names = ("log_probability", "keys_values", *top)
        outputs = self._model.run(PROMPT_LOGPROBS, {**inputs, "next_ids": next_ids[None]}, names)
        self.sequence.score(
            _token(self._description, self.sequence, token_id, outputs, (0, position))
            for position, token_id in enumerate(next_ids.tolist())
        )
        return outputs


class ModelRunner:
    """Prefill of one sequence at a time, and decoding of all sequences of the batch. One thread may use it.

    Keys and values of finished sequences are kept for prompts with a common prefix.

    Args:
        model: the language model.
        description: of the model.
        limits: the most running sequences, and the size of the prefix cache.
    """

    def __init__(self, model: LanguageModel, description: Description, limits: TextLimits):
        self._model, self._description, self._limits = model, description, limits
        self._prefix_cache = PrefixCache(limits.prefix_bytes)
        self.clear()

    def clear(self) -> None:
        """Drop all sequences in any state."""
        self._prefill: Prefill | None = None
        self._batch = InputBatch(self._model, self._description, max_running=self._limits.max_running)

    @property
    def sequences(self) -> list[Sequence]:
        """The sequences that have started."""
        return self._batch.sequences + ([self._prefill.sequence] if self._prefill is not None else [])

    @property
    def has_room(self) -> bool:
        """Whether another sequence may start."""
        return self._prefill is None and len(self._batch.sequences) < self._limits.max_running

    def start(self, sequence: Sequence) -> None:
        """Start a sequence with the keys and values of the longest known prefix of its prompt, unless it is scored."""
        if sequence.scores_prompt:
            first = int(sequence.prompt_ids[0])
            sequence.score([Token(first, _text(self._description, first), None)])
        num_cached, known = (0, None) if sequence.scores_prompt else self._longest_prefix(sequence.prompt_ids[:-1])
        sequence.prefill(num_cached, is_cached=True)
        if num_cached == sequence.num_prefill:
            self._batch.add(sequence, known)
        else:
            self._prefill = Prefill(self._model, self._description, sequence, known)

    def step(self) -> list[tuple[Sequence, Sampled | Exception]]:
        """Compute a chunk of a prompt, and the next tokens of each sequence of the batch.

        Returns:
            sequences with their new tokens, which must be appended before the next call, or with the exception that
            ends them. Sequences whose mask is not ready are left out.
        """
        failed = []
        try:
            self._run_prefill()
        except Exception as error:
            failed = [(self._prefill.sequence, error)]
            self._prefill = None
        return failed + (self._decode_batch() if self._batch.sequences else [])

    def release(self, sequence: Sequence) -> None:
        """Remove a sequence, if it has started, and keep its keys and values in the prefix cache."""
        if sequence.slot is not None:
            try:
                self._prefix_cache.add(sequence.computed_ids, self._batch.keys_values(sequence))
            finally:
                self._batch.remove(sequence)
        elif self._prefill is not None and self._prefill.sequence is sequence:
            self._prefill = None

    def check_invariants(self) -> None:
        """Raise an AssertionError where the state contradicts itself."""
        self._batch.check_invariants()
        assert self._prefill is None or self._prefill.sequence.slot is None, "a sequence in the batch has its prompt"

    def _longest_prefix(self, token_ids: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Find the longest common prefix with an earlier or running sequence; return its length and keys and values."""
        length, keys_values = self._prefix_cache.longest(token_ids)
        for other in self._batch.sequences:
            if (common := common_length(other.computed_ids, token_ids)) > length:
                length, keys_values = common, self._batch.keys_values(other)
        return length, keys_values

    def _run_prefill(self) -> None:
        max_tokens = CHUNK if self._batch.sequences else self._model.max_chunk
        if self._prefill is not None and self._prefill.run(max_tokens):
            self._batch.add(self._prefill.sequence, self._prefill.keys_values)
            self._prefill = None

    def _decode_batch(self) -> list[tuple[Sequence, Sampled | Exception]]:
        sequences = self._batch.sequences
        wait([sequence.mask for sequence in sequences if sequence.mask is not None], timeout=MASK_WAIT)
        longest = max(sequence.num_computed for sequence in sequences)
        max_tokens = max(1, min(self._model.max_step_tokens // len(sequences), self._description.context - longest))
        self._batch.reserve(max_tokens - 1)
        proposed = {
            sequence: sequence.propose(max_tokens - 1)
            for sequence in sequences
            if sequence.mask is None or sequence.mask.done()
        }
        decoded = self._decode(proposed, slice(0, self._batch.cache.rows)) if proposed else {}
        return [(sequence, self._recorded(sequence, result)) for sequence, result in decoded.items()]

    def _decode(
        self, proposed: Mapping[Sequence, list[int]], slots: slice
    ) -> dict[Sequence, Decoded] | dict[Sequence, Exception]:
        """Compute tokens for some slots; if that fails, for each sequence alone, so that it cannot end others."""
        has_logprobs = any(sequence.params.logprobs is not None for sequence in proposed)
        names = () if has_logprobs else ("token_ids", "keys_values")  # the others take time
        try:
            outputs = self._model.run(DECODE_STEP, self._batch.inputs(proposed, slots), names)
            return {
                sequence: self._decoded(sequence, guesses, outputs, sequence.slot - slots.start)
                for sequence, guesses in proposed.items()
            }
        except Exception as error:
            if slots.stop - slots.start == 1:
                return dict.fromkeys(proposed, error)
            alone = {}
            for sequence, guesses in proposed.items():
                alone |= self._decode({sequence: guesses}, slice(sequence.slot, sequence.slot + 1))
            return alone

    def _decoded(self, sequence: Sequence, guesses: list[int], outputs: Mapping[str, np.ndarray], row: int) -> Decoded:
        token_ids = outputs["token_ids"][row].tolist()
        token_ids = token_ids[: count_accepted(guesses, token_ids) + 1]
        tokens = [
            (token_id, _token(self._description, sequence, token_id, outputs, (row, position)))
            for position, token_id in enumerate(token_ids)
        ]
        return Decoded(tokens, len(guesses), outputs["keys_values"][:, :, row, :, : len(tokens)])

    def _recorded(self, sequence: Sequence, decoded: Decoded | Exception) -> Sampled | Exception:
        """Record the result of a step in the batch, and return its tokens."""
        if isinstance(decoded, Exception):
            return decoded
        try:
            self._batch.record(sequence, [token_id for token_id, _ in decoded.tokens], decoded.keys_values)
            sequence.accept(decoded.num_proposed, len(decoded.tokens) - 1)
        except Exception as error:
            return error
        return decoded.tokens


def _token(
    description: Description,
    sequence: Sequence,
    token_id: int,
    outputs: Mapping[str, np.ndarray],
    position: tuple[int, int],
) -> Token | None:
    """Return a token with its log probabilities, if the request asks for them."""
    count, top = sequence.params.logprobs, ()
    if count is None:
        return None
    if count:
        ids, values = (outputs[name][position][:count].tolist() for name in TOP_LOGPROBS)
        top = tuple((_text(description, top_id), value) for top_id, value in zip(ids, values, strict=True))
    return Token(token_id, _text(description, token_id), float(outputs["log_probability"][position]), top)


def _text(description: Description, token_id: int) -> str:
    return description.token_bytes[token_id].decode("latin-1")
