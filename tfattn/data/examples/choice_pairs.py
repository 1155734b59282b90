"""Examples of texts with a list of texts: a sequence for each text of the list, all in one record."""

from collections.abc import Iterator, Sequence

from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError
from tfattn.features import CHOICES, CONTEXT, DOCUMENTS, QUERY
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor


class ChoicePairs(Examples):
    """Sequences [CLS] context [SEP] choice [SEP] of all choices of a row, which share a softmax.

    Attributes:
        text_role: the role of the text.

    Source: Devlin et al. 2018, "BERT", section 4.4.
    """

    text_role: str = CONTEXT
    list_roles = (CHOICES,)

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor reads a text with each text of a list.

        Raises:
            ConfigError: the preprocessor reads other fields, or windows.
        """
        (list_role,) = self.list_roles
        if tuple(preprocessor.fields) != (self.text_role, list_role):
            raise ConfigError(
                f"a {self.text_role} is read with each of its {list_role}",
                key="preprocessing.fields",
                expected=f"[{self.text_role}, {list_role}]",
                received=", ".join(preprocessor.fields),
            )
        if preprocessor.max_tokens is None:
            raise ConfigError(
                f"a {self.text_role} with {list_role} is read in one sequence each, and not in windows",
                key="preprocessing.doc_stride",
                expected="null: of a longer text the rest is cut",
                received="a stride",
            )

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        (list_role,) = self.list_roles
        for row, values in super().of(rows, preprocessor, targets, randomness):
            # Rows with fewer texts are padded with empty sequences at the end.
            number = len(rows[row].fields[list_role])
            yield Example(
                row, {name: value[:number] if isinstance(value, list) else value for name, value in values.items()}
            )


class DocumentPairs(ChoicePairs):
    """Sequences [CLS] query [SEP] document [SEP] of all documents of a query."""

    text_role = QUERY
    list_roles = (DOCUMENTS,)
