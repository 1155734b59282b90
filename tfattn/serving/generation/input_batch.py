"""The input batch: the sequences that are decoded together, and the arrays that a decode step reads."""

from collections.abc import Mapping
from collections.abc import Sequence as TokenIds

import numpy as np

from tfattn.sampling_params import SamplingParams
from tfattn.serving.generation.description import Description, LanguageModel
from tfattn.serving.generation.kv_cache import MIN_CAPACITY, aligned, padded_size
from tfattn.serving.generation.sequence import Sequence

# Steps for which the batch stays larger than needed: other sequences may join soon, and a copy of the cache costs about
# as much as a step.
MAX_SKIPPED_STEPS = 16
_TYPES = {int: np.int32, float: np.float32}


class InputBatch:
    """Sequences in the first slots of a KV cache, with their sampling parameters and token counts.

    The arrays stay where they are in memory, so that TensorFlow reads them without a copy.

    Args:
        model: the language model.
        description: of the model.
        max_running: the most sequences.

    Attributes:
        sequences: by slot.
        cache: a row for each slot, and possibly some that are free.
    """

    def __init__(self, model: LanguageModel, description: Description, *, max_running: int):
        self.sequences: list[Sequence] = []
        self.cache = model.new_cache(description.layout)
        self._description, self._max_running = description, max_running
        self._arrays = _empty_arrays(1, description.vocabulary_size)
        self._num_oversized = 0  # steps for which the batch has been larger than needed

    def add(self, sequence: Sequence, keys_values: np.ndarray | None) -> None:
        """Add a sequence after its prefill.

        Args:
            sequence: the sequence.
            keys_values: (L, 2, G, S, K), first those of its computed tokens; None if there are no computed tokens.
        """
        slot = len(self.sequences)
        self._resize([*self.sequences, sequence], num_proposed=0)
        if keys_values is not None:
            self.cache.write(slot, 0, keys_values[:, :, :, : sequence.num_computed])
        self._fill(slot, sequence.params, sequence.prompt_ids)
        sequence.slot = slot
        self.sequences.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Remove a sequence; the last sequence moves to its slot."""
        slot, sequence.slot = sequence.slot, None
        moved = self.sequences.pop()
        last = len(self.sequences)
        if moved is not sequence:
            self.sequences[slot], moved.slot = moved, slot
            self.cache.write(slot, 0, self.cache.read(last, moved.num_computed))
            for array in self._arrays.values():
                array[slot] = array[last]
        # A step reads the parameters of a free slot, too.
        self._fill(last, SamplingParams(seed=0), np.zeros(0, np.int32))
        if not self.sequences:
            self._resize_to(1, MIN_CAPACITY)

    def keys_values(self, sequence: Sequence) -> np.ndarray:
        """Return a view (L, 2, G, S, K) of the keys and values of a sequence."""
        return self.cache.read(sequence.slot, sequence.num_computed)

    def reserve(self, num_proposed: int) -> None:
        """Make room for the next token and proposed tokens of each sequence, or release room that is not needed."""
        self._resize(self.sequences, num_proposed)

    def record(self, sequence: Sequence, token_ids: TokenIds[int], keys_values: np.ndarray) -> None:
        """Count generated tokens, and store the keys and values (L, 2, G, T, K) of the T tokens that were read."""
        for token_id in token_ids:
            self._arrays["counts"][sequence.slot, token_id] += 1
        self.cache.write(sequence.slot, sequence.num_computed, keys_values)

    def inputs(self, proposed: Mapping[Sequence, list[int]], slots: slice) -> dict[str, np.ndarray]:
        """Return the inputs of `decode_step` for sequences with their proposed tokens.

        Args:
            proposed: the sequences to decode; the step ignores other sequences.
            slots: all slots, or the slot of the only sequence.
        """
        count = slots.stop - slots.start
        token_ids = np.zeros((count, 1 + max(map(len, proposed.values()))), np.int32)
        lengths, index = np.zeros(count, np.int32), np.zeros(count, np.int32)
        padding_mask = np.zeros(token_ids.shape, bool)
        is_free = all(sequence.is_free for sequence in proposed)
        has_bias = any(sequence.logit_bias for sequence in proposed)
        size = self._description.vocabulary_size
        allowed = np.ones((count, 1 if is_free else size), bool)
        logit_bias = np.zeros((count, size if has_bias else 1), np.float32)
        for sequence, guesses in proposed.items():
            row = sequence.slot - slots.start
            token_ids[row, : 1 + len(guesses)] = [sequence.last_id, *guesses]
            padding_mask[row, : 1 + len(guesses)] = True
            lengths[row], index[row] = sequence.num_computed, sequence.num_generated
            if not sequence.is_free:
                allowed[row] = sequence.allowed(size)
            if sequence.logit_bias:
                logit_bias[row, list(sequence.logit_bias)] = list(sequence.logit_bias.values())
        return {
            "token_ids": token_ids,
            "padding_mask": padding_mask,
            "lengths": lengths,
            "past": self.cache.array if count == self.cache.rows else self.cache.row(slots.start).array,
            "allowed": allowed,
            **({"logit_bias": logit_bias} if self._description.takes_logit_bias else {}),
            "index": index,
            **{name: array[slots] for name, array in self._arrays.items()},
        }

    def check_invariants(self) -> None:
        """Raise an AssertionError where slots, cache and counts contradict the sequences."""
        assert [sequence.slot for sequence in self.sequences] == list(range(len(self.sequences))), "slots are in order"
        assert len(self.sequences) <= self.cache.rows <= self._max_running, "each sequence has a row"
        assert self.cache.capacity <= max(self._description.context, MIN_CAPACITY), "the cache keeps its limit"
        for name, array in self._arrays.items():
            assert len(array) == self.cache.rows, f"{name} has the rows of the cache"
        for sequence in self.sequences:
            assert sequence.num_computed <= self.cache.capacity, "the cache holds the computed tokens"
            in_prompt = np.flatnonzero(self._arrays["in_prompt"][sequence.slot])
            assert set(in_prompt.tolist()) == set(sequence.prompt_ids.tolist()), "the slot has the prompt"
            assert self._arrays["counts"][sequence.slot].sum() == sequence.num_generated, "each token is counted once"
        assert not self._arrays["counts"][len(self.sequences) :].any(), "a free slot has no counts"

    def _fill(self, slot: int, params: SamplingParams, prompt_ids: np.ndarray) -> None:
        for name, value in params.of_logits.items():
            self._arrays[name][slot] = value
        self._arrays["seed"][slot] = np.array(params.seed & 0xFFFFFFFF, np.uint32).view(np.int32)
        self._arrays["counts"][slot] = 0.0
        self._arrays["in_prompt"][slot] = False
        self._arrays["in_prompt"][slot, prompt_ids] = True

    def _resize(self, sequences: TokenIds[Sequence], num_proposed: int) -> None:
        longest = max(sequence.num_computed for sequence in sequences) + 1 + num_proposed
        rows = padded_size(len(sequences), least=1, most=self._max_running)
        capacity = padded_size(longest, least=MIN_CAPACITY, most=self._description.context)
        is_undersized = rows > self.cache.rows or capacity > self.cache.capacity
        is_oversized = rows < self.cache.rows or capacity < self.cache.capacity
        self._num_oversized = self._num_oversized + 1 if is_oversized else 0
        if is_undersized:
            self._resize_to(max(rows, self.cache.rows), max(capacity, self.cache.capacity))
        elif self._num_oversized > MAX_SKIPPED_STEPS:
            self._resize_to(rows, capacity)

    def _resize_to(self, rows: int, capacity: int) -> None:
        self._num_oversized = 0
        arrays = _empty_arrays(rows, self._description.vocabulary_size)  # first, so that both are resized or neither
        self.cache.resize(rows, capacity)
        for name, array in arrays.items():
            before = self._arrays[name]
            array[: len(before)] = before[: len(array)]
        self._arrays = arrays


def _empty_arrays(rows: int, vocabulary_size: int) -> dict[str, np.ndarray]:
    return {
        "seed": np.zeros(rows, np.int32),
        **{name: np.full(rows, value, _TYPES[type(value)]) for name, value in SamplingParams().of_logits.items()},
        "in_prompt": aligned((rows, vocabulary_size), np.dtype(bool)),
        "counts": aligned((rows, vocabulary_size), np.dtype(np.float32)),
    }
