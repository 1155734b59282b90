"""The `decoding:` section: how a trained model writes."""

from typing import Annotated, Any, Literal

import keras
from keras import ops
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from tfattn.decoding.beam import beam_search
from tfattn.decoding.loop import Decoded
from tfattn.features import PADDING_MASK
from tfattn.models.contracts.encoder_decoder import EncoderDecoder


class Decoding:
    """Finds a likely text for each source by beam search.

    Args:
        num_beams: texts that are written side by side for each source; 1 takes the likeliest token at each step.
        length_penalty: how much longer texts are favoured, alpha of Wu et al. 2016, eq. 14; 0 is no penalty.
        max_length: the most tokens of a text; by default as many as the model takes.
        max_ratio: the most tokens of a text for each token of its source, and ten more; null sets no such limit.
        num_results: how many texts the export's signature `n_best` gives for each source, at most num_beams.
        too_long: what the export does with a source that is longer than the model takes: "truncate" cuts and flags it,
            "refuse" answers with an error.
    """

    def __init__(
        self,
        *,
        num_beams: PositiveInt = 4,
        length_penalty: NonNegativeFloat = 0.6,
        max_length: PositiveInt | None = None,
        max_ratio: PositiveFloat | None = None,
        num_results: Annotated[int, Field(ge=1)] | None = None,
        too_long: Literal["truncate", "refuse"] = "truncate",
    ):
        self.num_beams = num_beams
        self.length_penalty = length_penalty
        self.max_length = max_length
        self.max_ratio = max_ratio
        self.num_results = num_results or num_beams
        self.too_long = too_long

    def longest(self, model: EncoderDecoder) -> int:
        """L, the most tokens that any text has; the start takes a place."""
        return min(self.max_length or model.max_sequence_length, model.max_sequence_length - 1)

    def write(
        self,
        model: EncoderDecoder,
        memory: dict[str, Any],
        *,
        start_id: int,
        end_id: int,
        suppressed_ids: tuple[int, ...],
        n_best: bool = False,
        aligned: bool = False,
    ) -> Decoded:
        """Write a text for each of B sources; to an empty one, of which there is only the end, nothing.

        Args:
            model: what writes.
            memory: its `encode` of the sources.
            start_id, end_id: the tokens before and behind every text.
            suppressed_ids: tokens that are never written.
            n_best: whether to answer the `num_results` best of each, on an axis of their own.
            aligned: whether to answer how much each source token counted.

        Returns:
            texts of up to L tokens, or of as many as `max_ratio` leaves to the longest source.
        """
        mask, longest = memory[PADDING_MASK], self.longest(model)
        lengths = ops.sum(ops.cast(mask, "float32"), axis=1)
        limit = ops.full_like(lengths, longest, dtype="int32")
        if self.max_ratio is not None:
            limit = ops.minimum(limit, ops.cast(lengths * self.max_ratio, "int32") + 10)
            longest = ops.max(limit)
        is_empty = lengths <= 1
        decoded = beam_search(
            lambda token_ids, index, state: _read(model, token_ids, index, *state),
            (memory, model.empty_state(memory, 0, self.num_beams)),
            start_ids=ops.full((ops.shape(mask)[0],), start_id, dtype="int32"),
            end_id=end_id,
            max_length=longest,
            length_limit=ops.where(is_empty, 0, limit),
            num_beams=self.num_beams,
            length_penalty=self.length_penalty,
            num_results=self.num_results if n_best else None,
            suppressed_ids=suppressed_ids,
            source_length=ops.shape(mask)[1] if aligned else None,
            reorder=lambda state, beams: (state[0], model.reorder(state[1], beams)),
            shrink_batch=keras.backend.backend() == "tensorflow",
        )
        # Where no token may be written the search finds no text at all, and scores it with minus infinity.
        return decoded._replace(scores=ops.where(is_empty[:, None] if n_best else is_empty, 0.0, decoded.scores))


def _read(model: EncoderDecoder, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple:
    """Return a step whose state holds the memory too, which loses the rows that are done as all else does."""
    logits, state, alignment = model.step(token_ids, index, memory, state)
    return logits, (memory, state), alignment
