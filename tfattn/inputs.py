"""What a run is made of beside its configuration: the content of the files that it reads, and the code of plugins."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfattn import catalog, files, pretrained
from tfattn.config.build import build
from tfattn.config.constructors import constructor
from tfattn.config.read import KeyPath
from tfattn.config.schema import Config
from tfattn.config.types import PartMark, SectionMark
from tfattn.data.section import Data

OWN_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Inputs:
    """Fingerprints by what they are of. No path is part of them: the same content elsewhere is the same.

    Args:
        data: of what the prepared data depend on: sources, vocabularies, the code of sources and preprocessors.
        training: of what only training depends on: published weights, the code of all other plugins.
    """

    data: dict[str, str]
    training: dict[str, str]


def inputs_of(config: Config, data: Data) -> Inputs:
    """Reads every file that a run depends on.

    Args:
        config: the resolved configuration.
        data: its data section, with the vocabulary of the pretrained weights where it takes that.

    Raises:
        DataError: a source cannot be read.
    """
    # By number: two files may have one name. One that is missing is told of where it is read.
    read = {f"preprocessing file {n}": path for n, path in enumerate(data.preprocessing.files) if path.is_file()}
    of_data = data.fingerprints() | {what: files.sha256(path) for what, path in read.items()}
    of_training = {}
    if (source := config.values["model"].get("pretrained")) is not None:
        weights = pretrained.open(source)
        of_training["pretrained"] = weights.fingerprint()
        if build(config, "data", "preprocessing").needs_pretrained:
            of_data["lower_case"] = str(weights.lower_case)
    for path, kind, name in _parts(config, SectionMark(config.section), ()):
        if fingerprint := code_of(kind, name):
            (of_data if path[0] == "data" else of_training)["plugin " + ".".join(path)] = fingerprint
    return Inputs(of_data, of_training)


def code_of(kind: str, name: str) -> str:
    """Says which code a name of a catalog stands for: "" for our own, whose versions keep what they have written.

    That of a plugin is all of its package, because a module uses its neighbours; without a package it is its one file.

    Args:
        kind: the catalog.
        name: the entry.
    """
    module, distribution = catalog.origin(kind, name)
    package = module.partition(".")[0]
    if package == OWN_PACKAGE:
        return ""
    spec = importlib.util.find_spec(package)
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    found = {str(path.relative_to(folder)): path for folder in folders for path in folder.rglob("*.py")}
    found |= {} if folders else {Path(spec.origin).name: Path(spec.origin)}
    return files.digest([distribution, {name: files.sha256(path) for name, path in found.items()}])


def _parts(config: Config, mark: PartMark | SectionMark, path: KeyPath) -> Iterator[tuple[KeyPath, str, str]]:
    """Every section that names its class: where it stands, the catalog, the name."""
    values = config.at(*path)
    if isinstance(mark, PartMark):
        yield path, mark.catalog, values["name"]
    for key, argument in constructor(*mark.entry(values)).arguments.items():
        if argument.nested is not None and values.get(key) is not None:
            yield from _parts(config, argument.nested, (*path, key))
