"""Examples of contexts with choices: a sequence of each choice with its context, all in one record."""

from collections.abc import Iterator, Sequence

from tfattn.data.examples import Drawing, Example, Examples
from tfattn.data.targets import Target
from tfattn.errors import ConfigError
from tfattn.features import CHOICES, CONTEXT
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor


class ChoicePairs(Examples):
    """Reads [CLS] context [SEP] choice [SEP] for each choice of a row, which belong together in the loss.

    Source: Devlin et al. 2018, "BERT", section 4.4.
    """

    list_roles = (CHOICES,)

    def require(self, preprocessor: Preprocessor) -> None:
        """Refuse what does not read a context with each of its choices.

        Raises:
            ConfigError: it reads other fields, or windows.
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
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, drawing: Drawing
    ) -> Iterator[Example]:
        for row, values in super().of(rows, preprocessor, targets, drawing):
            # Those of a row with fewer choices than others have empty sequences behind.
            number = len(rows[row].fields[CHOICES])
            yield Example(
                row, {name: value[:number] if isinstance(value, list) else value for name, value in values.items()}
            )
