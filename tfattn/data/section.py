"""The `data` section of a pipeline file."""

from typing import Annotated

from pydantic import Field

from tfattn.config.types import OfTask, Part, Section
from tfattn.data.batching import Batching
from tfattn.data.encoding import have_classes
from tfattn.data.engine import Engine
from tfattn.data.examples import Examples
from tfattn.data.local_engine import Local
from tfattn.data.ready_made import ReadyMade
from tfattn.data.split_config import TEST, VALIDATION, Split
from tfattn.data.targets import Target
from tfattn.errors import ConfigError, listed, nearest
from tfattn.features import EXAMPLE
from tfattn.formats.source import Row, Source
from tfattn.preprocessing.preprocessor import Preprocessor


class Data:
    """Where rows come from, how they are divided, turned into numbers and batched.

    Args:
        source: the file of rows.
        preprocessing: how raw values become what models read.
        batching: how rows form batches.
        split: how rows are divided into those that train and those that measure.
        targets: what rows have to teach, as the task asks for it.
        examples: how rows become what records hold, as the task has it.
        augmentation: how training images are changed as they are read, other ways in each epoch.
        missing: by role, the texts that say that there is no value, such as `label: ["-"]` where annotators disagreed;
            a row that needs it is left out.
        engine: what prepares the data, and with how many processes; it makes no difference to what is prepared.
        work_folder: where results of parts stand until all is done, on a disk or at an address such as
            gs://bucket/work; by default beside the prepared data. All workers must reach it.
        validation_source: rows that measure during training, when they stand in a file of their own; then all rows of
            `source` train, but those of `split.test`.

    Raises:
        ConfigError: a role that the preprocessing, the targets or the split read has no column, `missing` has one that
            no row needs, what is to be augmented are no images, a table reads the column of a target, there are no
            classes to balance, or the rows that measure are given twice, or hold no texts where the task needs them.
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
        engine: Part("engines") | None = None,
        work_folder: str | None = None,
    ):
        self.source: Source = source
        self.preprocessing: Preprocessor = preprocessing
        self.batching: Batching = batching
        self.split: Split = split
        self.targets: Target = targets
        self.missing = missing or {}
        self.engine: Engine = engine or Local()
        self.work_folder = work_folder
        self.validation_source: Source | None = validation_source
        is_made = any(one.has_examples for one in self.sources.values())
        self.examples: Examples = ReadyMade(examples) if is_made else examples
        for checked in self.sources.values():
            if preprocessing.reads_columns:
                checked.add_columns(preprocessing.fields)
                _check_targets_are_not_read(targets.roles, preprocessing.fields, checked.fields)
        self.examples.require(preprocessing)
        self._check_measured()
        self._check_roles()
        if augmentation is not None and not preprocessing.file_fields:
            raise ConfigError("there are no images to change", key="augmentation", expected="no such key")
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
        """Say what to do where rows of a split have a class that no training row has."""
        if split == VALIDATION and self.validation_source is not None:
            return "Add rows of this class to `source`, or take them out of `validation_source`."
        if split == TEST and self.split.hold_out:
            return "Add training rows of this class; `split.hold_out` keeps all of its rows aside."
        if self.split.group:
            return "Add rows of this class to more groups; `split.group` keeps those that it has together."
        if not self.split.stratify:
            return "Set `split.stratify: true`, which leaves rows of each class to train on."
        return "Add training rows of this class."

    def needed_roles(self, key: str) -> tuple[str, ...]:
        """Tell the roles without which a row of a source is left out."""
        read = () if self.preprocessing.reads_columns else self.compared_roles(key)
        is_told = self.targets.may_be_empty or self.sources[key].has_examples
        return (*read, *(() if is_told else self.targets.roles), *self.split.roles)

    def lacks(self, row: Row, role: str) -> bool:
        """Tell whether a row has no value for a role."""
        value = row.fields[role]
        return value is None or isinstance(value, str) and value.strip() in ("", *self.missing.get(role, ()))

    def text_roles(self, key: str) -> tuple[str, ...]:
        """Tell the roles of a source whose values are texts."""
        targets = () if self.sources[key].has_examples else self.targets.text_roles
        others = (*self.examples.list_roles, *self.preprocessing.file_fields)
        read = (role for role in self.compared_roles(key) if role not in others)
        return (*read, *targets, *self.split.roles)

    def compared_roles(self, key: str) -> tuple[str, ...]:
        """Tell the roles of a source of which two rows have the same values where they say the same."""
        return (EXAMPLE,) if self.sources[key].has_examples else self.examples.roles(self.preprocessing)

    @property
    def sources(self) -> dict[str, Source]:
        """The files, each under its key."""
        both = {"source": self.source, "validation_source": self.validation_source}
        return {key: source for key, source in both.items() if source is not None}

    def fingerprints(self) -> dict[str, str]:
        """Compute the SHA-256 of each file, under its key.

        Raises:
            DataError: a file cannot be read.
        """
        return {key: source.fingerprint() for key, source in self.sources.items()}

    def _check_measured(self) -> None:
        """Refuse examples without texts where the task is measured by texts."""
        measuring = [self.validation_source or self.source, *([self.source] if self.split.test else [])]
        if self.examples.allow_precomputed == "training" and any(source.has_examples for source in measuring):
            raise ConfigError(
                "examples that another tool has made do not say what their texts are, by which this task is measured",
                key="validation_source",
                expected="a source of texts, and no `split.test`",
                received="examples" if self.validation_source else "none",
            )

    def _check_roles(self) -> None:
        """Refuse sources that lack what is read, and missing values of what nobody needs."""
        for key, source in self.sources.items():
            targets = () if source.has_examples else self.targets.roles
            for role in (*self.compared_roles(key), *targets, *self.split.roles):
                if role not in source.fields:
                    raise ConfigError(
                        f"no column is given for `{role}`",
                        key=f"{key}.fields",
                        expected=f"`{role}: COLUMN`",
                        received=", ".join(source.fields) or "nothing",
                        remedy=nearest(role, source.fields),
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


def _check_targets_are_not_read(roles: tuple[str, ...], names: tuple[str, ...], columns: dict[str, str]) -> None:
    for role in roles:
        for name in names:
            if columns[name] == columns.get(role):
                raise ConfigError(
                    f"the {role} cannot be read, it is to be found out",
                    key="preprocessing",
                    expected=f"columns other than {columns[role]!r}",
                    received=name,
                )
