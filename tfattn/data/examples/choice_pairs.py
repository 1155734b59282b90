"""Examples for multiple choice: a sequence per choice with its context, all in one record."""

from collections.abc import Iterator, Sequence

from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError
from tfattn.features import CHOICES, CONTEXT
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor


class ChoicePairs(Examples):
    """Sequences [CLS] context [SEP] choice [SEP] of all choices of a row, which share a softmax.

    Source: Devlin et al. 2018, "BERT", section 4.4.
    """

    list_roles = (CHOICES,)

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor reads a context with each of its choices.

        Raises:
            ConfigError: the preprocessor reads other fields, or windows.
        """
        if tuple(preprocessor.fields) != (CONTEXT, CHOICES):
            raise ConfigError(
                "a context is read with each of its choices",
                key="preprocessing.fields",
                expected=f"[{CONTEXT}, {CHOICES}]",
                received=", ".join(preprocessor.fields),
            )
        if preprocessor.max_tokens is None:
            raise ConfigError(
                "a context with choices is read in one sequence each, and not in windows",
                key="preprocessing.doc_stride",
                expected="null: of a longer context the rest is cut",
                received="a stride",
            )

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        for row, values in super().of(rows, preprocessor, targets, randomness):
            # Rows with fewer choices are padded with empty sequences at the end.
            number = len(rows[row].fields[CHOICES])
            yield Example(
                row, {name: value[:number] if isinstance(value, list) else value for name, value in values.items()}
            )
