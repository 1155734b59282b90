"""The pretrained weights that a training started from, and their licence."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tfattn.hub.addresses import HubAddress, is_address, parse
from tfattn.pretrained.known_models import KNOWN_MODELS

README = "README.md"


@dataclass(frozen=True)
class Start:
    """The pretrained weights that a training started from.

    Attributes:
        source: a package, a folder, or the address of a model on a hub with its revision.
        licence: the licence that their authors state; None if it is not known.
        language: the language that their authors state; None if it is not known.
        digests: the SHA-256 of the files, by name; empty for exports that do not have them.
    """

    source: str
    licence: str | None
    language: str | None
    digests: Mapping[str, str]

    @property
    def repository(self) -> str | None:
        """The repository on the Hugging Face hub; None for other sources."""
        address = parse(self.source) if is_address(self.source) else None
        return address.repository if isinstance(address, HubAddress) else None


def start_of(config: Mapping[str, Any], card: Mapping[str, Any]) -> Start | None:
    """Return the pretrained weights that the training started from; None for random values.

    The licence is the one in the card of the export, or else in the list of tried models, or else in the model card in
    the folder of the weights.
    """
    origin = card.get("pretrained", {}).get("pretrained", {})
    source = config.get("model", {}).get("pretrained") or origin.get("from")
    if source is None:
        return None
    licence, language = origin.get("license"), origin.get("language")
    if licence is None and source in KNOWN_MODELS:
        licence = KNOWN_MODELS[source].license.lower()
    readme = Path(source) / README
    if not is_address(source) and readme.is_file():
        header = _front_matter(readme.read_text(encoding="utf-8"))
        licence, language = licence or header.get("license"), language or header.get("language")
    language = language if isinstance(language, str) else None  # a model of several languages leaves it open
    return Start(origin.get("from", source), licence and str(licence), language, origin.get("sha256", {}))


def _front_matter(card: str) -> dict[str, Any]:
    """Read the YAML between the first two lines of dashes."""
    if not card.startswith("---\n"):
        return {}
    found = yaml.safe_load(card[4:].partition("\n---")[0])
    return found if isinstance(found, dict) else {}
