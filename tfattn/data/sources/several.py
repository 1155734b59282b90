"""Concatenation of several sources."""

import dataclasses
from collections.abc import Iterator, Sequence

from tfattn import files
from tfattn.config.types import Parts
from tfattn.errors import ConfigError
from tfattn.formats.parts import Part
from tfattn.formats.source import Row, Source


class Several(Source):
    """The concatenated rows of several sources. Each source maps the roles to its own columns.

    Args:
        sources: sources by any name, such as `wikipedia: {name: mediawiki, path: dump.xml.bz2}`.

    Raises:
        ConfigError: a source is `several` too, or only some of the sources have precomputed examples, or rows that are
            files.

    Example:
        source = Several(sources={"old": DocumentFiles(path="old.txt"), "new": DocumentFiles(path="new.txt")})
        for row in source.rows():
            print(row.where, row.fields["text"])
    """

    def __init__(self, *, sources: Parts("sources")):
        self.sources: dict[str, Source] = sources
        first = next(iter(sources.values()))
        for name, source in sources.items():
            if isinstance(source, Several):
                raise ConfigError(
                    "it is made of several sources itself", key=f"sources.{name}", remedy="List them all in one."
                )
            if source.rows_are_files != first.rows_are_files:
                raise ConfigError(
                    "lines and files of their own are not read together",
                    key=f"sources.{name}",
                    expected="all of one kind",
                )
            if source.has_examples != first.has_examples:
                raise ConfigError(
                    "texts and examples are not read together", key=f"sources.{name}", expected="all of one kind"
                )
        self.path, self.has_examples, self.rows_are_files = first.path, first.has_examples, first.rows_are_files
        # A role must exist in all sources.
        roles = [role for role in first.fields if all(role in source.fields for source in sources.values())]
        self.fields = {role: first.fields[role] for role in roles}

    def add_columns(self, names: Sequence[str]) -> None:
        super().add_columns(names)
        for source in self.sources.values():
            source.add_columns(names)

    def parts(self) -> Iterator[Part]:
        for name, source in self.sources.items():
            for part in source.parts():
                yield dataclasses.replace(part, path=part.path or str(source.path), source=name)

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        read = [(self.sources[part.source], part)] if part else [(source, None) for source in self.sources.values()]
        for source, source_part in read:
            for row in source.rows(source_part):
                yield Row({role: row.fields[role] for role in self.fields}, row.where)

    def fingerprint(self) -> str:
        """Compute the SHA-256 of all sources together."""
        return files.digest({name: source.fingerprint() for name, source in self.sources.items()})
