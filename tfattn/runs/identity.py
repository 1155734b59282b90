"""The identity of data, models and stages: digests of all that their results depend on.

That is their part of the configuration, the content of every file that is read, and the code of plugins.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tfattn import files, pretrained, registry
from tfattn.config.constructors import constructor
from tfattn.config.read import KeyPath
from tfattn.config.schema import EMBEDDINGS, Config
from tfattn.config.types import Mark, PartsMark, SectionMark
from tfattn.data.section import Data
from tfattn.runs.ensemble import ensemble_of

OWN_PACKAGE = __name__.partition(".")[0]
# Increased when prepared data or checkpoints of an older version can no longer be used.
FORMAT = 8


@dataclass(frozen=True)
class Inputs:
    """Fingerprints, by name, of all that results depend on beside the configuration.

    They do not depend on paths: the same content elsewhere has the same fingerprint.

    Args:
        data: of what the prepared data depend on: sources, vocabularies, the code of sources and preprocessors.
        training: of what only training depends on: published weights, the code of all other plugins.
    """

    data: dict[str, str]
    training: dict[str, str]


def inputs_of(config: Config, data: Data) -> Inputs:
    """Compute the fingerprint of every file that a run depends on.

    Args:
        config: the resolved configuration.
        data: its data section, with the vocabulary of the pretrained weights where it takes that.

    Raises:
        DataError: a source cannot be read.
    """
    # By number: two files may have one name. A missing one is reported where it is read.
    read = {f"preprocessing file {n}": path for n, path in enumerate(data.preprocessing.files) if path.is_file()}
    of_data = data.fingerprints() | {what: files.sha256(path) for what, path in read.items()}
    of_data |= data.preprocessing.adopted
    of_training = {}
    for path, source in config.published.items():
        of_training[".".join([*path[1:], "pretrained"])] = pretrained.open(source).fingerprint()
    if (source := config.values["model"].get(EMBEDDINGS)) is not None:
        path = Path(source["from"])
        of_training[EMBEDDINGS] = (
            files.sha256(path) if path.is_file() else pretrained.find(str(path), Path("saved_models")).fingerprint()
        )
    for path, kind, name in _parts(config, SectionMark(config.section), ()):
        if fingerprint := code_of(kind, name):
            (of_data if path[0] == "data" else of_training)["plugin " + ".".join(path)] = fingerprint
    return Inputs(of_data, of_training)


def of_data(config: Config, inputs: Inputs) -> str:
    """Identify prepared data: rows, split, preprocessing and the kinds of targets and examples that a task has.

    Neither what prepares them, and where, nor how they are batched and changed as they are read is part of it.
    """
    apart = ("batching", "augmentation", "engine", "work_folder")
    section = {key: value for key, value in config.values["data"].items() if key not in apart}
    kind = registry.kind(config.values["task"]["name"])
    return files.digest([FORMAT, section, kind.targets, kind.examples, inputs.data, config.values["seed"]])[:10]


def of_run(config: Config, inputs: Inputs) -> str:
    """Identify a trained model, or the models of an ensemble."""
    settings = [config.values["data"]["batching"], *(config.values[key] for key in ("model", "task", "training"))]
    settings += [augmentation] if (augmentation := config.values["data"].get("augmentation")) else []
    settings += [asdict(ensemble_of(config)), config.values["runtime"]["precision"]]
    return files.digest([of_data(config, inputs), inputs.training, settings])[:10]


def of_evaluation(config: Config, weights: Sequence[str]) -> list[Any]:
    """List what an evaluation depends on beside the run: the weights, and the code of the report.

    Args:
        config: of the run.
        weights: the fingerprint of each model's best checkpoint.
    """
    return [*weights, code_of("report", config.values["task"]["name"])]


def of_export(config: Config, weights: Sequence[str]) -> list[Any]:
    """List what an export depends on beside the run: its evaluation, the code of what is served, its section."""
    served = code_of("served", config.values["task"]["name"])
    return [of_evaluation(config, weights), served, config.values["export"]]


def code_of(kind: str, name: str) -> str:
    """Identify the code of a catalog's entry: a digest of a plugin's code, "" for our own, whose changes FORMAT tells.

    The code of a plugin is all of its package, because a module uses its neighbours, or else its one file.

    Args:
        kind: the catalog.
        name: the entry.
    """
    module, distribution = registry.origin(kind, name)
    package = module.partition(".")[0]
    if package == OWN_PACKAGE:
        return ""
    spec = importlib.util.find_spec(package)
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    found = {str(path.relative_to(folder)): path for folder in folders for path in folder.rglob("*.py")}
    found |= {} if folders else {Path(spec.origin).name: Path(spec.origin)}
    return files.digest([distribution, {name: files.sha256(path) for name, path in found.items()}])


def _parts(config: Config, mark: Mark, path: KeyPath) -> Iterator[tuple[KeyPath, str, str]]:
    """Yield every section whose class is a choice: its key path, the catalog, the name."""
    values = config.at(*path)
    if isinstance(mark, PartsMark):
        for name in values:
            yield from _parts(config, mark.each, (*path, name))
        return
    entry = mark.entry(values, config.values)
    if not isinstance(mark, SectionMark):
        yield path, *entry
    for key, argument in constructor(*entry).arguments.items():
        if argument.nested is not None and values.get(key) is not None:
            yield from _parts(config, argument.nested, (*path, key))
