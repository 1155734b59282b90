"""From rows to what records hold: none, one or many examples of a row, or one of many rows."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.data.encoding import STORED_NAMES, Feature
from tfattn.data.targets import Target
from tfattn.data.transforms import Transform
from tfattn.features import EXAMPLE_ROWS, MASKS, PADDING_MASK
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.several_texts import stack_fields
from tfattn.preprocessing.unknown import Unknown


class Example(NamedTuple):
    """What a record holds.

    Attributes:
        row: the place of its row among those that were given; of many rows, of the first.
        values: by the names in the file.
    """

    row: int
    values: dict[str, Any]


class Drawing(NamedTuple):
    """What examples that are drawn at random follow from, so that every process draws the same.

    Attributes:
        seeds: (n,) uint64, of each row, by the seed of the data and the number of the row.
        is_training: whether they are to train; those that measure stay the same whatever training does.
    """

    seeds: np.ndarray
    is_training: bool


class Examples:
    """Makes an example of each row.

    Subclass it for a family of models whose records are no rows: give `features`, and `of` as many examples as rows
    have, each with the row that it is of. The rows that `of` is given belong to one part of one source, in order, so
    what many rows are packed into depends on nothing else. Keyword arguments of its own are keys of `data.examples`.

    Attributes:
        stay_together: whether the examples of a row train side by side; else they come anywhere in an epoch.
        list_roles: those of the values that it reads which are lists of texts; the targets check them.
        made_of: what rows need to have for any example to be made of them, for messages.
        ready_made: which of them another tool may have made, see `completed`: none, those that train, or all.
    """

    stay_together: bool = True
    list_roles: tuple[str, ...] = ()
    made_of: str = "rows"
    ready_made: Literal["none", "training", "all"] = "none"

    def require(self, preprocessor: Preprocessor) -> None:
        """Ask of the preprocessing what such examples need, such as places; refuse one by which none can be made.

        Raises:
            ConfigError: says which can.
        """

    def roles(self, preprocessor: Preprocessor) -> tuple[str, ...]:
        """Tell which values of a row it reads."""
        return (*preprocessor.fields, *preprocessor.target_fields)

    def excluded(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        """Find rows to exclude from training: (n,) bool."""
        return preprocessor.excluded(fields_of(rows, preprocessor)).numpy()

    def truncated(self, rows: Sequence[Row], preprocessor: Preprocessor) -> np.ndarray:
        """Find rows of which a part is not read: (n,) bool."""
        return preprocessor.truncated(fields_of(rows, preprocessor)).numpy()

    def unknown(self, rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, Unknown]:
        """Count what is unknown in some rows, by field."""
        return preprocessor.unknown(fields_of(rows, preprocessor))

    def features(self, row: Row, preprocessor: Preprocessor, targets: Target) -> dict[str, Feature]:
        """Tell what examples hold, by the names in the file, seen from any row.

        Args:
            row: of the training rows.
            preprocessor, targets: fitted.
        """
        fields = fields_of([row], preprocessor)
        inputs = preprocessor({name: fields[name] for name in preprocessor.fields})
        features = {}
        for name, output in preprocessor.to_records(fields).items():
            if name == EXAMPLE_ROWS:
                continue
            dtype = "int64" if output.dtype.is_integer else "bytes" if output.dtype == tf.string else "float32"
            role = "input" if name in inputs else "target"
            shape = tuple(output.shape[1:])
            features[STORED_NAMES.get(name, name)] = Feature(dtype, shape, MASKS.get(name, PADDING_MASK), role)
        return {**features, **targets.features}

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, drawing: Drawing
    ) -> Iterator[Example]:
        """Make the examples of some rows, in order.

        Args:
            rows: of one part of a source.
            preprocessor, targets: fitted.
            drawing: what is drawn at random follows from it.

        Raises:
            DataError: a row has a target that cannot be taught; names the place.
        """
        outputs = preprocessor.to_records(fields_of(rows, preprocessor))
        places = outputs.pop(EXAMPLE_ROWS, tf.range(len(rows))).numpy().tolist()
        columns = {STORED_NAMES.get(name, name): _values(output) for name, output in outputs.items()}
        for number, place in enumerate(places):
            values = {name: column[number] for name, column in columns.items()}
            yield Example(place, {**values, **targets.encode(rows[place])})

    def completed(self, values: dict[str, Any]) -> dict[str, Any]:
        """Add what an example lacks that another tool has made, where it follows from the rest."""
        return values

    def transforms(self, preprocessor: Preprocessor) -> Sequence[Transform]:
        """List what is done to training batches as they are read, with another outcome in each epoch."""
        return ()


def fields_of(rows: Sequence[Row], preprocessor: Preprocessor) -> dict[str, tf.Tensor]:
    """Collect the raw fields of some rows that a preprocessor reads, each (B,), or (B, N) where they are lists."""
    return stack_fields([row.fields for row in rows], (*preprocessor.fields, *preprocessor.target_fields))


def _values(output: tf.Tensor | tf.RaggedTensor) -> list[Any]:
    return output.to_list() if isinstance(output, tf.RaggedTensor) else output.numpy().tolist()
