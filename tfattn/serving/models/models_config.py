"""The configuration of the served models: a models.config in TF Serving's format, or the folders at a path."""

import os
import re
from collections.abc import Collection
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig, ModelType

from tfattn.errors import ServingError, nearest
from tfattn.serving.engine.links import is_inside
from tfattn.serving.models import model_store, versions_on_disk

FILE = "models.config"
PLATFORM = "tensorflow"
EXAMPLE = (
    'Write: model_config_list { config { name: "reports" base_path: "/models/reports" '
    f'model_platform: "{PLATFORM}" }} }}'
)


def read_config(path: Path) -> ModelServerConfig:
    """Read the models to serve from a path.

    Args:
        path: one of
            a model's folder with versions in it, served under the folder's name;
            a version's folder, served as the only version;
            a folder with a models.config;
            a folder of models: each model with a version is served, except links out of the folder;
            a models.config. If a base path in it does not exist, the folder of the same name next to the file is used,
            because exports write the paths inside containers. Only an absolute path may lead out of the file's folder.

    Raises:
        ServingError: there is nothing to serve, or the file is invalid; the message names the location.

    Example:
        >>> [model.name for model in read_config(Path("saved_models")).model_config_list.config]
        ['factory_reports']
    """
    path = Path(os.path.abspath(path))  # the name of a link is the model's name
    if path.is_file():
        return _read(path)
    if not path.is_dir():
        raise ServingError(
            "there is nothing to serve: no such folder or file", where=str(path), remedy=_suggestion(path)
        )
    if model_store.versions(path):
        return _config_of(_model(path))
    if versions_on_disk.is_complete(path):
        return _one_version(path)
    if os.path.isfile(path / FILE):
        return _read(path / FILE)
    entries, names = _entries(path), model_store.names(path)
    if not names:
        raise ServingError(
            "there is nothing to serve",
            where=str(path),
            expected=f"<version>/saved_model.pb, <model>/<version>/saved_model.pb or {FILE}, a version being a number",
            received=", ".join(ignored_links(path) or entries[:8]) or "an empty folder",
            remedy="Export a model first with `tfattn run` or `tfattn export`.",
        )
    return _config_of(*(_model(path / name) for name in names))


def ignored_links(path: Path) -> list[str]:
    """Return a warning for each model that is a link out of a folder of models and therefore not served."""
    return [] if os.path.isfile(path / FILE) else model_store.ignored_links(path)


def check(model: ModelConfig, *, earlier: Collection[str]) -> None:
    """Check an entry of a models.config, with TF Serving's messages where they exist.

    Args:
        model: the entry.
        earlier: the names of the entries before it.

    Raises:
        ServingError: the name is missing or a duplicate, the platform is not supported, or the path is not absolute.
    """
    if not model.name:
        raise ServingError("a model has no name", received=model.base_path)
    if model.name in earlier:
        raise ServingError(
            f"Illegal to list model {model.name} multiple times in config list",
            remedy="Give each entry a unique name.",
        )
    old_key = ModelType.Name(model.model_type).lower() if model.model_type else ""
    platform = model.model_platform or old_key
    if platform != PLATFORM:
        raise ServingError(
            f"Model {model.name} requests unsupported platform",
            expected=f'model_platform: "{PLATFORM}"',
            received=platform or "none",
        )
    if not os.path.isabs(model.base_path):
        raise ServingError(
            f"Expected model {model.name} to have an absolute path",
            expected="the absolute path of a folder",
            received=model.base_path or "none",
        )


def _read(path: Path) -> ModelServerConfig:
    config = ModelServerConfig()
    try:
        text = path.read_text(encoding="utf-8")
        text_format.Parse(text, config)
    except text_format.ParseError as error:
        location = ":".join(str(part) for part in (path, error.GetLine(), error.GetColumn()) if part)
        reason = re.sub(r"^\d+:\d+ : ", "", str(error))
        raise ServingError(f"not a {FILE} ({reason})", where=location, remedy=EXAMPLE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the file ({error})", where=str(path)) from None
    models = config.model_config_list.config
    if not models:
        raise ServingError("there is nothing to serve", where=str(path), remedy=EXAMPLE)
    for index, model in enumerate(models):
        try:
            model.base_path = _resolve(model.base_path, folder=path.parent)
            check(model, earlier=[other.name for other in models[:index]])
            _check_folder(model, path)
        except ServingError as error:
            error.where = _location(path, text, error.received, model.name, model.base_path)
            raise
    return config


def _check_folder(model: ModelConfig, path: Path) -> None:
    if not os.path.isdir(model.base_path):
        raise ServingError(
            f"the folder of model {model.name} is missing",
            expected=f"this folder, or a folder of the same name next to {path.name}",
            received=model.base_path,
            remedy=_suggestion(Path(model.base_path), path.parent),
        )


def _resolve(base: str, *, folder: Path) -> str:
    """Resolve a base path: existing absolute folders are kept, other paths are relative to the file's folder."""
    if os.path.isdir(base) and os.path.isabs(base):
        return base
    for candidate in (folder / base, folder / Path(base).name):
        if base and candidate.is_dir():
            if not is_inside(candidate, folder):
                raise ServingError(
                    "the base path leads out of the folder of the file",
                    expected=f"a path in {folder}",
                    received=base,
                    remedy=f"If this is intended, write the absolute path: {os.path.realpath(candidate)}.",
                )
            return str(candidate)
    return base


def _location(path: Path, text: str, *values: str) -> str:
    """Return the file and the last line with the first value found; of duplicates, the last is invalid."""
    code = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("#")]
    for value in values:
        lines = [number for number, line in code if f'"{value}"' in line or f"'{value}'" in line]
        if lines:
            return f"{path}:{lines[-1]}"
    return str(path)


def _suggestion(path: Path, *more: Path) -> str:
    """Suggest a file or folder with a similar name."""
    folders = [folder for folder in (path.parent, *more) if folder.is_dir()]
    return nearest(path.name, [name for folder in folders for name in _entries(folder)])


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise ServingError(f"cannot read the folder ({error.strerror})", where=str(folder)) from None


def _config_of(*models: ModelConfig) -> ModelServerConfig:
    config = ModelServerConfig()
    config.model_config_list.config.extend(models)
    return config


def _model(folder: Path) -> ModelConfig:
    return ModelConfig(name=folder.name, base_path=str(folder), model_platform=PLATFORM)


def _one_version(folder: Path) -> ModelServerConfig:
    if not (folder.name.isascii() and folder.name.isdigit()):
        raise ServingError(
            "a version's folder has no number for a name",
            where=str(folder),
            expected="<model>/<version>, such as reports/1",
            received=folder.name,
        )
    model = _model(folder.parent)
    model.model_version_policy.specific.versions.append(int(folder.name))
    return _config_of(model)
