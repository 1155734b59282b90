"""A pipeline that is built in code."""

import html
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.api.parts import signature
from tfattn.config.resolve import resolve
from tfattn.config.show import to_yaml


class Pipeline(Mapping[str, Any]):
    """A checked pipeline: the sections of a pipeline file as arguments.

    A section is a dictionary; the functions of `tfattn.parts` make them, with the keys as arguments. A section may
    start `from` a file. The keys, defaults and messages are those of pipeline files: see `tfattn list sections`.

    Attributes:
        config: the resolved configuration, with all defaults.

    Raises:
        ConfigError: a file cannot be read, or (as ConfigProblems) the sections have errors, all of them at once.

    Example:
        >>> from tfattn import Pipeline, parts
        >>> pipeline = Pipeline(
        ...     name="reports",
        ...     data={
        ...         "source": parts.sources.csv(path="reports.csv", fields={"text": "Report", "label": "Category"}),
        ...         "preprocessing": parts.preprocessors.wordpiece(max_length=64),
        ...         "batching": {"batch_size": 16},
        ...     },
        ...     model=parts.models.bert(pretrained="minilm"),
        ...     task=parts.tasks.classification(),
        ...     training={"epochs": 3},
        ... )
        >>> run = tfattn.run(pipeline, seed=1)
    """

    __signature__ = signature("sections", "pipeline")

    def __init__(self, **sections: Any):
        self._sections = sections
        self.config = resolve(sections)

    @classmethod
    def read(cls, path: str | Path, **overrides: Any) -> "Pipeline":
        """Read a pipeline file.

        Args:
            path: the file.
            overrides: the values of keys, and keys of sections, that replace those of the file.
        """
        return cls(**resolve(path, overrides).values)

    def save(self, path: str | Path) -> None:
        """Write the pipeline with all defaults as a pipeline file."""
        files.write_text(Path(path), to_yaml(self.config))

    def __getitem__(self, key: str) -> Any:
        return self._sections[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(f'{name}={value!r}' for name, value in self._sections.items())})"

    def _repr_html_(self) -> str:
        """Return the resolved configuration with the origin of each value."""
        return f"<pre>{html.escape(to_yaml(self.config))}</pre>"
