"""Checks of the roles of a source that another source reads."""

from collections.abc import Sequence

from tfattn.errors import ConfigError, listed, nearest
from tfattn.formats.source import Source


def check_roles(source: Source, roles: Sequence[str]) -> None:
    """Check that a source has roles with texts.

    Raises:
        ConfigError: a role is missing, or the rows are files or precomputed examples.
    """
    for role in roles:
        if role not in source.fields:
            raise ConfigError(
                f"the source has no `{role}`",
                key="source.fields",
                expected=f"`{role}: COLUMN`",
                received=listed(source.fields) or "nothing",
                remedy=nearest(role, source.fields),
            )
    if source.has_examples or source.rows_are_files:
        raise ConfigError("the source has no texts", key="source", expected="a source of lines or records")
