"""The `decoding:` section: the beam search of an encoder-decoder."""

from typing import Annotated, Any, Literal

import keras
from keras import ops
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from tfattn.decoding.beam import beam_search
from tfattn.decoding.loop import Decoded
from tfattn.features import PADDING_MASK
from tfattn.models.contracts.encoder_decoder import EncoderDecoder


class Decoding:
    """Beam search for each source.

    Args:
        num_beams: the number of beams for each source; 1 is greedy search.
        length_penalty: the preference for longer texts, alpha of Wu et al. 2016, eq. 14; 0 is no penalty.
        length_penalty_offset: k of the penalty ((k + length) / (k + 1))^alpha; 5 as in the paper, 0 for length^alpha as
            in transformers and Marian.
        max_length: the maximum number of tokens of a text; by default the limit of the model.
        max_ratio: the maximum number of tokens of a text for each token of its source, plus ten; null for no limit.
        num_results: the number of texts that the export's signature `n_best` returns for each source, at most
            num_beams.
        stopping: when the search for a source ends: "results" if no text that ends at the next step could be better
            than the texts to return, "beams" if no beam, as long as it is now, is better than the num_beams best texts,
            "ended" as soon as num_beams texts have ended; the last two are transformers' `early_stopping` false and
            true.
        forced_end: whether a text that reaches the maximum length ends there, at no cost; else texts without an end are
            returned only if too few texts have ended.
        renormalize: whether the probabilities of the tokens that can be generated sum to 1; else tokens that are never
            generated keep theirs.
        too_long: how the export treats a source that exceeds the model's limit: "truncate" cuts and flags the source,
            "refuse" returns an error.
    """

    def __init__(
        self,
        *,
        num_beams: PositiveInt = 4,
        length_penalty: NonNegativeFloat = 0.6,
        length_penalty_offset: NonNegativeFloat = 5.0,
        max_length: PositiveInt | None = None,
        max_ratio: PositiveFloat | None = None,
        num_results: Annotated[int, Field(ge=1)] | None = None,
        stopping: Literal["results", "beams", "ended"] = "results",
        forced_end: bool = False,
        renormalize: bool = False,
        too_long: Literal["truncate", "refuse"] = "truncate",
    ):
        self.num_beams = num_beams
        self.length_penalty = length_penalty
        self.length_penalty_offset = length_penalty_offset
        self.max_length = max_length
        self.max_ratio = max_ratio
        self.num_results = num_results or num_beams
        self.stopping: Literal["results", "beams", "ended"] = stopping
        self.forced_end = forced_end
        self.renormalize = renormalize
        self.too_long = too_long

    def max_tokens(self, model: EncoderDecoder) -> int:
        """Return L, the maximum number of tokens of a text; the start token takes one position."""
        return min(self.max_length or model.max_sequence_length, model.max_sequence_length - 1)

    def generate(
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
        """Generate a text for each of B sources; an empty source, which has only its end token, gets an empty text.

        Args:
            model: the encoder-decoder.
            memory: its `encode` of the sources.
            start_id, end_id: the tokens before and after every text.
            suppressed_ids: tokens that are never generated.
            n_best: whether to return the `num_results` best texts of each source, on an additional axis.
            aligned: whether to return the attention weights of the source tokens.

        Returns:
            texts of up to L tokens, or of the limit that `max_ratio` sets for the longest source.
        """
        mask, longest = memory[PADDING_MASK], self.max_tokens(model)
        lengths = ops.sum(ops.cast(mask, "float32"), axis=1)
        limit = ops.full_like(lengths, longest, dtype="int32")
        if self.max_ratio is not None:
            limit = ops.minimum(limit, ops.cast(lengths * self.max_ratio, "int32") + 10)
            longest = ops.max(limit)
        is_empty = lengths <= 1
        decoded = beam_search(
            lambda token_ids, index, state: _step(model, token_ids, index, *state),
            (memory, model.empty_state(memory, 0, self.num_beams)),
            start_ids=ops.full((ops.shape(mask)[0],), start_id, dtype="int32"),
            end_id=end_id,
            max_length=longest,
            length_limit=ops.where(is_empty, 0, limit),
            num_beams=self.num_beams,
            length_penalty=self.length_penalty,
            length_penalty_offset=self.length_penalty_offset,
            stopping=self.stopping,
            forced_end=self.forced_end,
            renormalize=self.renormalize,
            num_results=self.num_results if n_best else None,
            suppressed_ids=suppressed_ids,
            source_length=ops.shape(mask)[1] if aligned else None,
            reorder=lambda state, beams: (state[0], model.reorder(state[1], beams)),
            shrink_batch=keras.backend.backend() == "tensorflow",
        )
        # The search finds no text for an empty source, and scores it with minus infinity.
        return decoded._replace(scores=ops.where(is_empty[:, None] if n_best else is_empty, 0.0, decoded.scores))


def _step(model: EncoderDecoder, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple:
    """Take a step whose state includes the memory, so that finished rows leave the memory too."""
    logits, state, alignment = model.step(token_ids, index, memory, state)
    return logits, (memory, state), alignment
