"""Raw rows of a pipeline: their sources, which rows are complete, and how rows are split. TensorFlow is not needed."""

from tfattn.data.corrections import Corrections
from tfattn.data.examples.targets import Target
from tfattn.data.split_config import Split
from tfattn.formats.source import Row, Source


class RawData:
    """The contract of sections that define rows before preprocessing.

    Attributes:
        source, validation_source: the sources of rows; the second may be None.
        split: the split of rows.
        targets: the targets of rows.
        missing: by role, the texts that mark a missing value.
        corrections: the corrected labels of rows; None for none.
        max_rows: the maximum number of rows of each source; None for all rows.
        may_lack_inputs: whether a row without a value of an input is complete.
        optional_roles: roles whose values may be empty.
    """

    source: Source
    validation_source: Source | None
    split: Split
    targets: Target
    missing: dict[str, list[str]]
    corrections: Corrections | None = None
    max_rows: int | None
    may_lack_inputs: bool = False
    optional_roles: tuple[str, ...] = ()

    def compared_roles(self, key: str) -> tuple[str, ...]:
        """Return the roles of a source that define duplicate rows."""
        raise NotImplementedError

    def text_roles(self, key: str) -> tuple[str, ...]:
        """Return the roles of a source whose values are texts."""
        raise NotImplementedError

    def needed_roles(self, key: str) -> tuple[str, ...]:
        """Return the roles without which a row of a source is dropped."""
        read = () if self.may_lack_inputs else self.compared_roles(key)
        read = tuple(role for role in read if role not in self.optional_roles)
        is_optional = self.targets.may_be_empty or self.sources[key].has_examples
        return (*read, *(() if is_optional else self.targets.roles), *self.split.roles)

    def lacks(self, row: Row, role: str) -> bool:
        """Return whether a row has no value for a role."""
        value = row.fields[role]
        return value is None or isinstance(value, str) and value.strip() in ("", *self.missing.get(role, ()))

    @property
    def sources(self) -> dict[str, Source]:
        """The sources by key."""
        both = {"source": self.source, "validation_source": self.validation_source}
        return {key: source for key, source in both.items() if source is not None}
