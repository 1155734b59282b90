"""One vector of each of the several texts that make a row."""

from typing import Any

from keras import ops

from tfattn.features import CHOICE_MASK, ENCODED, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.tasks.text_backbone import TextBackbone


class SeveralTextsBackbone(TextBackbone):
    """Pools an encoder's output into one vector of each text, which the encoder reads each by itself.

    Args: as of TextBackbone.

    Call arguments:
        features: `token_ids`, `segment_ids` and `padding_mask`, (B, N, T) each; a text without a token is none.

    Returns:
        `encoded` (B, N, D) float32 and `choice_mask` (B, N) bool, which of the texts are there.
    """

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        tokens = {name: features[name] for name in (TOKEN_IDS, SEGMENT_IDS, PADDING_MASK) if name in features}
        rows, texts, length = ops.shape(tokens[TOKEN_IDS])
        mask = tokens.get(PADDING_MASK, ops.ones((rows, texts, length), dtype="bool"))
        flat = {name: ops.reshape(x, (-1, length)) for name, x in tokens.items()}
        encoded = super().encode(flat, training=training)[ENCODED]
        return {
            ENCODED: ops.reshape(encoded, (rows, texts, self.width)),
            CHOICE_MASK: ops.any(ops.cast(mask, "bool"), axis=-1),
        }
