"""The version of the `tokenizers` package, on which the character tables depend."""

import tokenizers
from typing_extensions import TypedDict

from tfattn.errors import DataError


class Reference(TypedDict):
    """The saved version of `tokenizers`, and a digest of its treatment of all characters."""

    tokenizers_version: str
    characters_sha256: str


def reference_of(fingerprint: str) -> Reference:
    """Describe the installed version, which computed a table with this SHA-256."""
    return {"tokenizers_version": tokenizers.__version__, "characters_sha256": fingerprint}


def check_reference(saved: Reference, fingerprint: str, *, where: str) -> None:
    """Refuse settings from a version that treats characters differently.

    Args:
        saved: the saved settings.
        fingerprint: SHA-256 of the same table from the installed version.
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
