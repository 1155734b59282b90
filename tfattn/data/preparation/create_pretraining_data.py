"""Files of pre-training examples for BERT, in the format of create_pretraining_data.py of google-research/bert."""

import functools
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.data.batching import Batching
from tfattn.data.engines.local_engine import Local
from tfattn.data.examples.encoding import INPUT_MASK, Feature
from tfattn.data.examples.examples import Example, Randomness
from tfattn.data.examples.sentence_pairs import SentencePairs
from tfattn.data.examples.targets import Target
from tfattn.data.preparation.prepare import prepare
from tfattn.data.section import Data
from tfattn.data.sources.document_files import DocumentFiles
from tfattn.data.split_config import Split
from tfattn.formats.source import Row
from tfattn.preprocessing.wordpiece import WordPiece

_HEADER = struct.Struct("<Q4x")  # header of a record: length and checksum of the length
_CHECKSUM = 4  # bytes after a record


class PaddedPairs(SentencePairs):
    """Sentence pairs padded to the same length, with an `input_mask`."""

    def features(self, row: Row, preprocessor: WordPiece, targets: Target) -> dict[str, Feature]:
        found = super().features(row, preprocessor, targets)
        sizes = {name: self._size(feature, preprocessor) for name, feature in found.items()}
        shapes = {name: Feature(found[name].dtype, (size,)) for name, size in sizes.items()}
        return {INPUT_MASK: Feature("int64", (preprocessor.max_length,)), **shapes}

    def of(
        self, rows: Sequence[Row], preprocessor: WordPiece, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        shapes = {name: feature.shape[0] for name, feature in self.features(rows[0], preprocessor, targets).items()}
        texts, write = self.texts(rows, preprocessor), self.writer(preprocessor)
        for some in self.sequences(texts, preprocessor, self.dupe_factor, randomness.seeds):
            columns = write.columns(some) | {name: values[:, None] for name, values in some.values.items()}
            padded = {name: _padded(columns[name], size) for name, size in shapes.items()}
            for number, row in enumerate(some.rows.tolist()):
                yield Example(row, {name: column[number] for name, column in padded.items()})

    def _size(self, feature: Feature, preprocessor: WordPiece) -> int:
        if not feature.is_sequence:
            return 1
        return preprocessor.max_length if feature.mask else self.max_predictions_per_seq


def create_pretraining_data(
    *, input_file: Sequence[str], output_file: Sequence[str], seed: int, processes: int | None = None, **options: Any
) -> int:
    """Write examples of sentence pairs with masked tokens.

    Args:
        input_file: text files or patterns, one sentence a line, a blank line between documents.
        output_file: the TFRecord files, among which examples are distributed.
        seed: not negative.
        processes: number of processes; by default the number of cores.
        options: `vocabulary`, `lower_case` and `max_length` of `WordPiece`, all others of `SentencePairs`.

    Returns:
        the number of examples.

    Raises:
        ConfigError: an option is not as it should be.
        DataError: a file cannot be read, or no example can be made.
    """
    make = functools.partial(_section, input_file, processes, **options)
    parent = Path(output_file[0]).absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".pretraining-data-") as folder, ExitStack() as stack:
        prepare(make(), Path(folder) / "prepared", seed, make=make)
        paths = [stack.enter_context(files.atomic_file(Path(name))) for name in output_file]
        outputs = [stack.enter_context(path.open("wb")) for path in paths]
        count = 0
        for shard in sorted((Path(folder) / "prepared").glob("train-*.tfrecord")):
            records = _records(shard.read_bytes())
            for index, output in enumerate(outputs):
                output.writelines(records[(index - count) % len(outputs) :: len(outputs)])
            count += len(records)
    return count


def _section(
    input_file: Sequence[str],
    processes: int | None,
    *,
    vocabulary: str,
    lower_case: bool,
    max_length: int,
    **options: Any,
) -> Data:
    return Data(
        source=DocumentFiles(path=list(input_file)),
        preprocessing=WordPiece(vocabulary=vocabulary, lower_case=lower_case, max_length=max_length),
        batching=Batching(batch_size=1),
        split=Split(validation=0),
        targets=Target(),
        examples=PaddedPairs(**options),
        engine=Local(processes=processes),
    )


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    """Pad or cut the second axis to (N, size); only padding is cut."""
    padded = np.zeros((len(values), size), values.dtype)
    padded[:, : values.shape[1]] = values[:, :size]
    return padded


def _records(shard: bytes) -> list[memoryview]:
    """List the records of a TFRecord file with their lengths and checksums."""
    whole, records, begin = memoryview(shard), [], 0
    while begin < len(shard):
        (length,) = _HEADER.unpack_from(shard, begin)
        end = begin + _HEADER.size + length + _CHECKSUM
        records.append(whole[begin:end])
        begin = end
    return records
