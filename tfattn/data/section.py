"""The `data` section of a pipeline file."""

from tfattn.config.types import OfTask, Part, Section
from tfattn.data.batching import Batching
from tfattn.data.encoding import have_classes
from tfattn.data.engine import Engine
from tfattn.data.examples import Examples
from tfattn.data.local_engine import Local
from tfattn.data.ready_made import ReadyMade
from tfattn.data.source import Source
from tfattn.data.split import TEST, VALIDATION, Split
from tfattn.data.targets import Target
from tfattn.errors import ConfigError, nearest
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
        engine: what prepares the data, and with how many processes; it makes no difference to what is prepared.
        work_folder: where results of parts stand until all is done, on a disk or at an address such as
            gs://bucket/work; by default beside the prepared data. All workers must reach it.
        validation_source: rows that measure during training, when they stand in a file of their own; then all rows of
            `source` train, but those of `split.test`.

    Raises:
        ConfigError: a role that the preprocessing, the targets or the split read has no column, a table reads the
            column of a target, there are no classes to balance, or the rows that measure are given twice.
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
        engine: Part("engines") | None = None,
        work_folder: str | None = None,
    ):
        self.source: Source = source
        self.preprocessing: Preprocessor = preprocessing
        self.batching: Batching = batching
        self.split: Split = split
        self.targets: Target = targets
        self.examples: Examples = ReadyMade(examples) if source.has_examples else examples
        self.engine: Engine = engine or Local()
        self.work_folder = work_folder
        self.validation_source: Source | None = validation_source
        if self.examples.located:
            preprocessing.locate(self.examples.located)
        for checked in self.sources.values():
            if preprocessing.reads_columns:
                checked.add_columns(preprocessing.fields)
                _check_targets_are_not_read(targets.roles, preprocessing.fields, checked.fields)
        self.examples.check(preprocessing)
        self._check_roles(*self.compared_roles, *targets.roles, *split.roles)
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

    @property
    def needed_roles(self) -> tuple[str, ...]:
        """The roles without which a row is left out."""
        read = () if self.preprocessing.reads_columns else self.compared_roles
        targets = () if self.targets.may_be_empty else self.targets.roles
        return (*read, *targets, *self.split.roles)

    @property
    def text_roles(self) -> tuple[str, ...]:
        """The roles whose values are texts."""
        return (*self.compared_roles, *self.targets.text_roles, *self.split.roles)

    @property
    def compared_roles(self) -> tuple[str, ...]:
        """The roles of which two rows have the same values where they say the same."""
        return self.examples.roles(self.preprocessing)

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

    def _check_roles(self, *roles: str) -> None:
        for key, source in self.sources.items():
            for role in roles:
                if role not in source.fields:
                    raise ConfigError(
                        f"no column is given for `{role}`",
                        key=f"{key}.fields",
                        expected=f"`{role}: COLUMN`",
                        received=", ".join(source.fields) or "nothing",
                        remedy=nearest(role, source.fields),
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
