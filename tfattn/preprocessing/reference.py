"""The `tokenizers` package, which says how characters are treated: tables computed by it are those of its version."""

import tokenizers
from typing_extensions import TypedDict

from tfattn.errors import DataError


class Reference(TypedDict):
    """What settings say of it: its version, and a digest of what it makes of all characters."""

    tokenizers_version: str
    characters_sha256: str


def reference_of(fingerprint: str) -> Reference:
    """Describe the installed one, by which a table of this SHA-256 was computed."""
    return {"tokenizers_version": tokenizers.__version__, "characters_sha256": fingerprint}


def check_reference(saved: Reference, fingerprint: str, *, where: str) -> None:
    """Refuse settings that were made with one that treats characters differently.

    Args:
        saved: the settings.
        fingerprint: SHA-256 of the same table, as the installed one computes it.
        where: the file of the settings, for the message.

    Raises:
        DataError: names both versions.
    """
    if saved["characters_sha256"] != fingerprint:
        version = saved["tokenizers_version"]
        raise DataError(
            "the tokenizer was made with another `tokenizers` package, which treats some characters differently",
            where=where,
            expected=f"tokenizers {version}",
            received=tokenizers.__version__,
            remedy=f"Run `pip install tokenizers=={version}`, or prepare the data and train again.",
        )
