"""The `data` section of a pipeline file."""

from tfattn.config.types import Part, Section
from tfattn.data.batching import Batching
from tfattn.data.source import Source
from tfattn.data.split import Split
from tfattn.data.targets import ClassLabels
from tfattn.errors import ConfigError, nearest
from tfattn.preprocessing.preprocessor import Preprocessor


class Data:
    """Where rows come from, how they are divided, turned into numbers and batched.

    Args:
        source: the file of rows.
        tokenizer: how text becomes tokens.
        batching: how rows form batches.
        split: how rows are divided into those that train and those that measure.
        validation_source: rows that measure during training, when they stand in a file of their own; then all rows of
            `source` train, but those of `split.test`.

    Raises:
        ConfigError: a role that the tokenizer or the target reads has no column; or no rows are left to measure.
    """

    def __init__(
        self,
        *,
        source: Part("sources"),
        tokenizer: Part("tokenizers"),
        batching: Section("batching"),
        split: Section("split"),
        validation_source: Part("sources") | None = None,
    ):
        self.source: Source = source
        self.tokenizer: Preprocessor = tokenizer
        self.batching: Batching = batching
        self.split: Split = split
        self.validation_source: Source | None = validation_source
        for key, checked in self.sources.items():
            for role in (*tokenizer.fields, *ClassLabels.roles):
                if role not in checked.fields:
                    raise ConfigError(
                        f"no column is given for `{role}`",
                        key=f"{key}.fields",
                        expected=f"`{role}: COLUMN`",
                        received=", ".join(checked.fields) or "nothing",
                        remedy=nearest(role, checked.fields),
                    )
        if validation_source is None and split.validation == 0:
            raise ConfigError(
                "no rows are left to measure",
                key="split.validation",
                expected="a share above 0, or a `validation_source`",
                received="0",
            )

    @property
    def sources(self) -> dict[str, Source]:
        """The files, each under its key."""
        both = {"source": self.source, "validation_source": self.validation_source}
        return {key: source for key, source in both.items() if source is not None}

    def fingerprints(self) -> dict[str, str]:
        """The SHA-256 of each file, under its key.

        Raises:
            DataError: a file cannot be read.
        """
        return {key: source.fingerprint() for key, source in self.sources.items()}
