"""The `data` section of a pipeline file."""

from typing import Annotated

from pydantic import Field, PositiveInt

from tfattn.config.types import OfTask, Part, Section
from tfattn.data.batching import Batching
from tfattn.data.corrections import Corrections
from tfattn.data.engines.engine import Engine
from tfattn.data.engines.local_engine import Local
from tfattn.data.examples.encoding import have_classes
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.targets import Target
from tfattn.data.raw_data import RawData
from tfattn.data.sources.ready_made import ReadyMade
from tfattn.data.split_config import TEST, VALIDATION, Split
from tfattn.errors import ConfigError, listed, nearest
from tfattn.features import EXAMPLE, ID, LABEL
from tfattn.formats.source import Source
from tfattn.preprocessing.preprocessor import Preprocessor


class Data(RawData):
    """Sources, split, preprocessing and batching of rows.

    Args:
        source: the source of rows.
        preprocessing: the preprocessor, from raw values to the inputs of models.
        batching: batch size and order.
        split: split into training, validation and test rows.
        targets: the targets of rows, of the class that the task selects.
        examples: the examples of rows, of the class that the task selects.
        augmentation: random changes of training images, which differ in each epoch.
        missing: by role, the texts that mark a missing value, such as `label: ["-"]` where annotators disagreed; rows
            with a missing needed value are dropped.
        corrections: a CSV file of corrected labels, such as the edited list of `tfattn label-errors`, with the columns
            `id` (or `row`, the location) and `label`; a row with an empty label is dropped.
        max_rows: the maximum number of rows of each source, which are spread over the file; null reads all rows.
        engine: the engine of preparation, with its number of processes. Prepared data do not depend on it.
        work_folder: folder of intermediate results, on a disk or at a remote address such as gs://bucket/work; by
            default next to the prepared data. All workers need access.
        validation_source: a separate source of validation rows; all rows of `source` except `split.test` then train.

    Raises:
        ConfigError: a role of the preprocessing, the targets or the split has no column; `missing` has a role that is
            not needed; `augmentation` is set without images; a table reads the column of a target; `balanced` is set
            without classes; `corrections` is set without labels; validation rows are defined twice; or validation rows
            are precomputed examples although the task evaluates texts.
    """

    def __init__(
        self,
        *,
        source: Part("sources"),
        preprocessing: Part("preprocessors"),
        batching: Section("batching"),
        split: Section("split"),
        targets: OfTask("targets"),
        examples: OfTask("examples"),
        validation_source: Part("sources") | None = None,
        augmentation: Section("augmentation") | None = None,
        missing: dict[str, Annotated[list[str], Field(min_length=1)]] | None = None,
        corrections: str | None = None,
        max_rows: PositiveInt | None = None,
        engine: Part("engines") | None = None,
        work_folder: str | None = None,
    ):
        self.source: Source = source
        self.preprocessing: Preprocessor = preprocessing
        self.batching: Batching = batching
        self.split: Split = split
        self.targets: Target = targets
        self.missing = missing or {}
        self.corrections = Corrections(corrections) if corrections else None
        self.max_rows = max_rows
        self.engine: Engine = engine or Local()
        self.work_folder = work_folder
        self.validation_source: Source | None = validation_source
        is_made = any(source.has_examples for source in self.sources.values())
        self.examples: Examples = ReadyMade(examples) if is_made else examples
        self.may_lack_inputs, self.optional_roles = preprocessing.reads_columns, self.examples.optional_roles
        for checked in self.sources.values():
            if preprocessing.reads_columns:
                not_read = (*targets.roles, *({ID} & checked.fields.keys()))
                checked.add_columns(preprocessing.fields)
                _check_not_read(not_read, preprocessing.fields, checked.fields)
        self.examples.choose_roles(source.fields)
        self.examples.require(preprocessing)
        self._check_measured()
        self._check_roles()
        if augmentation is not None and not preprocessing.file_fields:
            raise ConfigError("there are no images to change", key="augmentation", expected="no such key")
        if corrections and LABEL not in targets.roles:
            raise ConfigError("there are no labels to correct", key="corrections", expected="no such key")
        if batching.balanced and not have_classes(targets.features):
            raise ConfigError("there are no classes to balance", key="batching.balanced", expected="false")
        if validation_source is not None and split.folds:
            raise ConfigError(
                "the rows that measure are given twice",
                key="split.folds",
                expected="either folds or a `validation_source`",
                received="both",
            )

    def remedy_of_new_class(self, split: str) -> str:
        """Return the remedy for a class of a split that no training row has."""
        if split == VALIDATION and self.validation_source is not None:
            return "Add rows of this class to `source`, or take them out of `validation_source`."
        if split == TEST and self.split.hold_out:
            return "Add training rows of this class; `split.hold_out` holds out all of its rows."
        if self.split.group:
            return "Add rows of this class to more groups; `split.group` keeps the rows of a group together."
        if not self.split.stratify:
            return "Set `split.stratify: true`, which leaves rows of each class to train on."
        return "Add training rows of this class."

    def text_roles(self, key: str) -> tuple[str, ...]:
        """Return the roles of a source whose values are texts."""
        targets = () if self.sources[key].has_examples else self.targets.text_roles
        others = (*self.examples.list_roles, *self.preprocessing.file_fields)
        read = (role for role in self.compared_roles(key) if role not in others)
        return (*read, *targets, *self.split.roles)

    def compared_roles(self, key: str) -> tuple[str, ...]:
        """Return the roles of a source that define duplicate rows."""
        return (EXAMPLE,) if self.sources[key].has_examples else self.examples.roles(self.preprocessing)

    def fingerprints(self) -> dict[str, str]:
        """Compute the SHA-256 of each source, and of the corrections, by key.

        Raises:
            DataError: a file cannot be read.
        """
        corrections = {"corrections": self.corrections.fingerprint()} if self.corrections else {}
        return {key: source.fingerprint() for key, source in self.sources.items()} | corrections

    def _check_measured(self) -> None:
        """Check that evaluation rows have texts, if the task evaluates texts."""
        measuring = [self.validation_source or self.source, *([self.source] if self.split.test else [])]
        if self.examples.allow_precomputed == "training" and any(source.has_examples for source in measuring):
            raise ConfigError(
                "examples that another tool has made do not say what their texts are, by which this task is measured",
                key="validation_source",
                expected="a source of texts, and no `split.test`",
                received="examples" if self.validation_source else "none",
            )

    def _check_roles(self) -> None:
        """Check that sources have all roles that are read, and that the roles of `missing` are needed."""
        for key, source in self.sources.items():
            targets = () if source.has_examples else self.targets.roles
            for role in (*self.compared_roles(key), *targets, *self.split.roles):
                if role not in source.fields:
                    raise ConfigError(
                        f"no column is given for `{role}`",
                        key=f"{key}.fields",
                        expected=f"`{role}: COLUMN`",
                        received=", ".join(source.fields) or "nothing",
                        remedy=self.examples.roles_hint or nearest(role, source.fields),
                    )
        needed = self.needed_roles("source")
        for role in self.missing:
            if role not in needed:
                raise ConfigError(
                    f"no row needs `{role}`",
                    key="missing",
                    expected=f"one of {listed(needed)}",
                    received=role,
                    remedy=nearest(role, needed),
                )


def _check_not_read(roles: tuple[str, ...], names: tuple[str, ...], columns: dict[str, str]) -> None:
    """Check that the columns `names`, which the model reads, are not columns of targets and identifiers."""
    for role in roles:
        for name in names:
            if columns[name] == columns.get(role):
                raise ConfigError(
                    f"the column of `{role}` cannot be an input of the model",
                    key="preprocessing",
                    expected=f"columns other than {columns[role]!r}",
                    received=name,
                )
