"""Finding the format of published weights, and the message for an architecture that is not supported."""

from pathlib import Path

from tfattn import catalog, registry
from tfattn.errors import ConfigError
from tfattn.pretrained.contract import Pretrained, nearest_architecture, read_json

CONFIG = "config.json"
# The supported architecture of a kind that is nearest to the architectures of the kind, by the suffix of class names.
NEAREST_OF_KIND = (
    (("ForCausalLM", "LMHeadModel", "CausalLM"), ("llama", "gpt2")),
    (("ForConditionalGeneration", "MTModel"), ("t5", "marian", "bert")),
    (("ForImageClassification", "ForMaskedImageModeling"), ("vit",)),
    (("ForMaskedLM", "ForPreTraining", "ForSequenceClassification", "ForTokenClassification"), ("bert",)),
)
BACKBONE = "Backbone"  # the suffix of KerasHub's names


def find_format(path: Path, *, where: str = "") -> type[Pretrained]:
    """Return the first format of the catalog that matches a folder or a file.

    Args:
        path: an existing folder or file.
        where: its address, for messages; by default the path.

    Raises:
        ConfigError: no format matches; names the architecture, and the nearest supported architecture.
    """
    known: list[type[Pretrained]] = []
    for name in catalog.CATALOGS["pretrained"]:  # imported one at a time: the first formats match most often
        candidate = registry.find("pretrained", name)
        if candidate.matches(path):
            return candidate
        known.append(candidate)
    where = where or str(path)
    if path.is_dir() and (path / CONFIG).is_file():
        config = read_json(path / CONFIG)
        for key, supported in _architectures(known).items():
            if isinstance(received := config.get(key), str):
                raise ConfigError(
                    "the architecture is not supported",
                    key="pretrained",
                    where=where,
                    expected=f"{key} {', '.join(sorted(supported))}",
                    received=received,
                    remedy=_nearest(received, config.get("architectures"), supported),
                )
    raise ConfigError(
        "no known format of pretrained weights",
        key="pretrained",
        where=where,
        expected="; or ".join(candidate.description for candidate in known),
        received=_content(path),
    )


def _architectures(known: list[type[Pretrained]]) -> dict[str, set[str]]:
    """Return the supported architectures by the key of config.json that names them."""
    return {
        "model_type": {name for format in known for name in getattr(format, "model_types", ())},
        "class_name": {format.backbone for format in known if hasattr(format, "backbone")},
    }


def _nearest(received: str, classes: object, supported: set[str]) -> str:
    """Name the nearest supported architecture: of a similar name, or else for the same kind of task."""
    kinds = [
        candidate
        for suffixes, candidates in NEAREST_OF_KIND
        if isinstance(classes, list) and any(str(name).endswith(suffixes) for name in classes)
        for candidate in candidates
        if candidate in supported
    ]
    return nearest_architecture(received, supported, of_kind=kinds)


def _content(path: Path) -> str:
    if path.is_file():
        return "a file"
    return ", ".join(sorted(inner.name for inner in path.iterdir())[:10]) or "an empty folder"
