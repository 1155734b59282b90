"""Ids of prepared data and runs, and inputs of stages: digests of everything that determines their results.

These are parts of the configuration, the content of all input files, and the code of plugins.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tfattn import files, hub, pretrained, registry
from tfattn.config.read import KeyPath
from tfattn.config.schema import ADAPTER, EMBEDDINGS, Config, keys_of
from tfattn.config.types import Mark, PartsMark, SectionMark
from tfattn.data.section import Data
from tfattn.pretrained import peft_adapter
from tfattn.pretrained.packages import vectors_path
from tfattn.runs.ensemble import build_ensemble

OWN_PACKAGE = __name__.partition(".")[0]
# Increased when prepared data or checkpoints of an older version can no longer be used.
FORMAT = 8


@dataclass(frozen=True)
class Fingerprints:
    """Fingerprints, by name, of all inputs of a run other than the configuration.

    They do not depend on paths: the same content has the same fingerprint everywhere.

    Args:
        data: inputs of the prepared data: sources, vocabularies, the code of sources and preprocessors.
        training: inputs of training only: pretrained weights, the code of all other plugins.
        origins: the source of all pretrained weights, by key; see `Pretrained.origin`. The weights are in `training`,
            and the revision of a model on a hub is in the resolved configuration.
    """

    data: dict[str, str]
    training: dict[str, str]
    origins: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False)


def compute_fingerprints(config: Config, data: Data) -> Fingerprints:
    """Compute the fingerprints of all files and plugins that a run depends on.

    Args:
        config: the resolved configuration.
        data: its data section, with the vocabulary of the pretrained weights if it is configured.

    Raises:
        DataError: a source cannot be read.
    """
    # By index: two files may have the same name. A missing file is reported when it is read.
    paths = {f"preprocessing file {n}": path for n, path in enumerate(data.preprocessing.files) if path.is_file()}
    for_data = data.fingerprints() | {name: files.sha256(path) for name, path in paths.items()}
    for_data |= data.preprocessing.adopted
    for_training = {}
    origins = {}
    for path, source in config.published.items():
        weights, key = pretrained.open(source), ".".join([*path[1:], "pretrained"])
        for_training[key] = weights.fingerprint()
        origins[key] = {**weights.origin, "from": source}
    if (source := config.values["model"].get(EMBEDDINGS)) is not None:
        for_training[EMBEDDINGS] = _vectors_fingerprint(path := vectors_path(source["from"]))
        if hub.is_address(address := source["from"]):
            license, digests = hub.open(address).license, {path.name: for_training[EMBEDDINGS]}
            origins[EMBEDDINGS] = {"from": address, "license": license, "sha256": digests}
    if (teacher := config.values.get("teacher")) is not None:
        weights = pretrained.find(teacher["pretrained"], Path(config.values["export"]["folder"]))
        for_training["teacher"] = weights.fingerprint()
        origins["teacher"] = {**weights.origin, "from": teacher["pretrained"]}
    adapter = config.values["model"].get(ADAPTER) or {}
    if (source := adapter.get("from")) is not None:
        published = peft_adapter.open(source)
        for_training[ADAPTER] = published.fingerprint()
        origins[ADAPTER] = {**published.origin, "from": source}
    for path, kind, name in _parts(config, SectionMark(config.section), ()):
        if path[0] != "tracker" and (fingerprint := code_fingerprint(kind, name)):
            (for_data if path[0] == "data" else for_training)["plugin " + ".".join(path)] = fingerprint
    return Fingerprints(for_data, for_training, origins)


def _vectors_fingerprint(path: Path) -> str:
    """Compute the fingerprint of word vectors: of a file, a folder of arrays, or an export."""
    if path.is_file():
        return files.sha256(path)
    if arrays := sorted(inner for pattern in ("*.npy", "*.parquet") for inner in path.glob(pattern)):
        return files.digest({inner.name: files.sha256(inner) for inner in arrays})
    return pretrained.find(str(path), Path("saved_models")).fingerprint()


def data_id(config: Config, fingerprints: Fingerprints) -> str:
    """Compute the id of prepared data: of rows, split, preprocessing, targets and examples.

    The engine, the work folder, batching and augmentation do not change the prepared data and are not included.
    """
    excluded = ("batching", "augmentation", "engine", "work_folder")
    section = {key: value for key, value in config.values["data"].items() if key not in excluded}
    # Data that were prepared before these keys existed have the same id.
    section = {key: value for key, value in section.items() if (key, value) != ("corrections", None)}
    later = {"calibration": 0, "leaks": "keep"}
    section["split"] = {key: value for key, value in section["split"].items() if later.get(key) != value}
    kind = registry.kind(config.values["task"]["name"])
    return files.digest([FORMAT, section, kind.targets, kind.examples, fingerprints.data, config.values["seed"]])[:10]


def run_id(config: Config, fingerprints: Fingerprints) -> str:
    """Compute the id of a trained model, or of an ensemble."""
    settings = [config.values["data"]["batching"], *(config.values[key] for key in ("model", "task", "training"))]
    settings += [teacher] if (teacher := config.values.get("teacher")) else []
    settings += [augmentation] if (augmentation := config.values["data"].get("augmentation")) else []
    settings += [asdict(build_ensemble(config)), config.values["runtime"]["precision"]]
    return files.digest([data_id(config, fingerprints), fingerprints.training, settings])[:10]


def evaluation_inputs(config: Config, weights: Sequence[str]) -> list[Any]:
    """Return the inputs of an evaluation in addition to the run's id: weights, the code of the report, its sections.

    Args:
        config: the run's.
        weights: the fingerprint of each model's best checkpoint.
    """
    code = code_fingerprint("report", config.values["task"]["name"])
    calibration = [section] if (section := config.values.get("calibration")) else []
    return [*weights, code, config.values["evaluation"], *calibration]


def export_inputs(config: Config, weights: Sequence[str]) -> list[Any]:
    """Return the inputs of an export in addition to the run's id: its evaluation, its code and its section."""
    served = code_fingerprint("served", config.values["task"]["name"])
    return [evaluation_inputs(config, weights), served, config.values["export"]]


def code_fingerprint(kind: str, name: str) -> str:
    """Compute a digest of the code of a catalog entry if it is a plugin; "" for this package, which has FORMAT.

    The digest covers the whole package of the plugin, because modules import each other, or its single file.

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
            yield from _parts(config, mark.item, (*path, name))
        return
    entry = mark.entry(values, config.values)
    if not isinstance(mark, SectionMark):
        yield path, *entry
    for key, argument in keys_of(*entry).items():
        if argument.nested is not None and values.get(key) is not None:
            yield from _parts(config, argument.nested, (*path, key))
