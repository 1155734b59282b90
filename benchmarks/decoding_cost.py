"""The time per token of generating 16, 32, 64 or 128 tokens, with and without a key/value cache.

A small Transformer with random weights generates for 50 sources of 16 tokens, without an end token.
"""

import keras
import tensorflow as tf

from benchmarks import multi30k
from benchmarks.results import Table
from benchmarks.timing import medians
from tfattn.features import PADDING_MASK, TARGET_IDS, TOKEN_IDS
from tfattn.models.transformer import Transformer
from tfattn.tasks.decoding import Decoding

BATCH, SOURCE, VOCABULARY, SPECIAL, ROUNDS = 50, 16, 8000, (0, 1, 2, 3), 5
LENGTHS = (16, 32, 64, 128)


def main() -> list[Table]:
    """Return milliseconds per token of all rows."""
    model = Transformer(
        vocabulary_size=VOCABULARY,
        target_vocabulary_size=VOCABULARY,
        max_sequence_length=max(LENGTHS) + 1,
        share_embeddings="all",
        **multi30k.SIZES,
    )
    token_ids = keras.random.randint((BATCH, SOURCE), len(SPECIAL), VOCABULARY)
    features = {TOKEN_IDS: token_ids, PADDING_MASK: tf.ones_like(token_ids, tf.bool)}
    candidates = {}
    for length in LENGTHS:
        candidates["1 beam", length] = cached(model, features, length, 1)
        candidates["4 beams", length] = cached(model, features, length, 4)
        candidates["1 beam without a cache", length] = uncached(model, features, length)
    seconds = medians(candidates, rounds=ROUNDS)
    names = dict.fromkeys(name for name, _ in candidates)
    rows = [[name, *(f"{1000 * seconds[name, length] / length:.1f}" for length in LENGTHS)] for name in names]
    title = f"decoding {BATCH} rows: milliseconds per token of each row, medians of {ROUNDS} rounds"
    return [Table(title=title, columns=["tokens written", *map(str, LENGTHS)], rows=rows)]


def cached(model, features, length, num_beams):
    decoding = Decoding(num_beams=num_beams, max_length=length)

    @tf.function
    def write():
        written = decoding.generate(model, model.encode(features), start_id=2, end_id=3, suppressed_ids=SPECIAL)
        return written.token_ids

    return lambda: write().numpy()


def uncached(model, features, length):
    """Recompute all generated tokens for each further token."""

    @tf.function
    def write():
        written = tf.fill([BATCH, 1], 2)
        for _ in tf.range(length):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(written, tf.TensorShape([BATCH, None]))])
            # The model does not read the last position, which is a placeholder for the next token.
            logits = model({**features, TARGET_IDS: tf.pad(written, [[0, 0], [0, 1]])})["logits"][:, -1]
            written = tf.concat([written, tf.argmax(logits, axis=-1, output_type=tf.int32)[:, None]], axis=1)
        return written

    return lambda: write().numpy()
