"""Precomputed training examples for BERT, in the format of google-research/bert."""

import json
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tfattn.data.examples.encoding import INPUT_MASK
from tfattn.data.sources.each_file import EachFile
from tfattn.errors import DataError
from tfattn.features import (
    END_POSITIONS,
    EXAMPLE,
    IS_IMPOSSIBLE,
    MASKED_LM_IDS,
    MASKED_LM_POSITIONS,
    MASKED_LM_WEIGHTS,
    NEXT_SENTENCE_LABELS,
    SEGMENT_IDS,
    START_POSITIONS,
    UNIQUE_IDS,
)
from tfattn.files import AnyPath, CompressedPath
from tfattn.formats.parts import Span
from tfattn.formats.source import Row
from tfattn.formats.text_files import check_is_file

BATCH_RECORDS = 256
# Names in files -> our names.
_TOKENS = {
    "input_ids": "input_ids",
    "input_word_ids": "input_ids",
    SEGMENT_IDS: SEGMENT_IDS,
    "input_type_ids": SEGMENT_IDS,
}
_PREDICTIONS = (MASKED_LM_POSITIONS, MASKED_LM_IDS, MASKED_LM_WEIGHTS)
_NUMBERS = (NEXT_SENTENCE_LABELS, START_POSITIONS, END_POSITIONS, IS_IMPOSSIBLE, UNIQUE_IDS)
_SPECS = {
    name: tf.io.RaggedFeature(tf.float32 if name == MASKED_LM_WEIGHTS else tf.int64)
    for name in (*_TOKENS, *_PREDICTIONS, INPUT_MASK, *_NUMBERS)
}


class BertRecords(EachFile):
    """TFRecord files of training examples from create_pretraining_data.py or run_squad.py of google-research/bert.

    Tokens and masks are used unchanged; padding is removed. A row is an example, as JSON. Files whose names end in .gz
    are compressed by gzip.

    Args:
        path: the file, a pattern such as data/*.tfrecord, or a list of them.

    Example:
        source = BertRecords(path="pretraining.tfrecord")
        for row in source.rows():
            print(row.where, row.fields["example"])
    """

    has_examples = True

    def __init__(self, *, path: str | list[str]):
        super().__init__(path)
        self.fields = {EXAMPLE: self.patterns[0]}

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        check_is_file(path)
        number = 0
        compression = "GZIP" if isinstance(path, CompressedPath) else ""
        try:
            for batch in tf.data.TFRecordDataset(str(path), compression).batch(BATCH_RECORDS):
                columns = tf.io.parse_example(batch, _SPECS)
                columns = {name: values.to_list() for name, values in columns.items()}
                for index in range(len(batch)):
                    number += 1
                    values = {name: np.array(column[index]) for name, column in columns.items()}
                    example = {name: found.tolist() for name, found in _trimmed(values)}
                    yield Row({EXAMPLE: json.dumps(example)}, f"{path}:{number}")
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
            raise DataError(
                "the record cannot be read",
                where=f"{path}:{number + 1}, or one of the {BATCH_RECORDS} from there",
                expected="a TFRecord file of examples",
                received=error.message.splitlines()[0],
            ) from None
        if number == 0:
            raise DataError("the file is empty", where=str(path), remedy="Check `path`.")


def _trimmed(values: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the features of an example, by our names and without padding."""
    is_prediction = values[MASKED_LM_WEIGHTS] > 0
    for name, ours in _TOKENS.items():
        if len(values[name]):
            length = np.count_nonzero(values[INPUT_MASK]) if len(values[INPUT_MASK]) else len(values[name])
            yield ours, values[name][:length]
    for name in _PREDICTIONS:
        if len(values[name]) == len(is_prediction):
            yield name, values[name][is_prediction]
    for name in _NUMBERS:
        if len(values[name]) == 1:
            yield name, values[name][0]
