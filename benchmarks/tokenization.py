"""Sentences per second from strings to WordPiece ids, compared with tensorflow-text and Hugging Face."""

import tensorflow as tf
import tensorflow_text as tf_text
import tokenizers

from benchmarks import sst2
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn import pretrained
from tfattn.preprocessing.wordpiece import WordPiece

ROWS, BATCH, ROUNDS = 32_768, 1024, 5


def main() -> list[Table]:
    """Tokenize the sentences once, in batches."""
    vocabulary = pretrained.open("minilm").vocabulary
    texts = [text for text, _ in sst2.rows(ROWS)]
    batches = [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]
    tensors = [tf.constant(batch) for batch in batches]

    ours = WordPiece(vocabulary=str(vocabulary), max_length=512)
    ours.fit([])
    tokens = vocabulary.read_text(encoding="utf-8").splitlines()
    ready_made = tf_text.FastBertTokenizer(tokens, lower_case_nfd_strip_accents=True)
    rust = tokenizers.BertWordPieceTokenizer(str(vocabulary), lowercase=True)

    in_graph = tf.function(lambda batch: ours({"text": batch})["token_ids"].flat_values, reduce_retracing=True)
    theirs = tf.function(lambda batch: ready_made.tokenize(batch).flat_values, reduce_retracing=True)
    candidates = {
        "tfattn": lambda: [in_graph(batch) for batch in tensors],
        "tf-text FastBertTokenizer": lambda: [theirs(batch) for batch in tensors],
        "tokenizers (Rust)": lambda: [rust.encode_batch(batch) for batch in batches],
    }
    seconds = medians(candidates, rounds=ROUNDS)
    notes = ("FastBertTokenizer does not give BERT's own tokens for every text.",)
    title = f"WordPiece ids of {ROWS:,} rows of SST-2, batches of {BATCH:,}"
    return [comparison(title, seconds, unit="rows", amount=len(texts), notes=notes)]
