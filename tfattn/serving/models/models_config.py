"""The configuration of what is served: a models.config as TF Serving reads it, or the folders at a path."""

import os
import re
from collections.abc import Collection
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig, ModelType

from tfattn.errors import ServingError, nearest
from tfattn.serving.engine.links import is_inside
from tfattn.serving.models import model_store

FILE = "models.config"
PLATFORM = "tensorflow"
EXAMPLE = (
    'Write: model_config_list { config { name: "reports" base_path: "/models/reports" '
    f'model_platform: "{PLATFORM}" }} }}'
)


def read_config(path: Path) -> ModelServerConfig:
    """Find the models to serve.

    Args:
        path: one of
            a model's folder, with versions in it, which is served under the folder's name;
            one version's folder, which alone is served;
            a folder with a models.config;
            a folder of models, of which each that has a version is served, but none that is a link out of it;
            a models.config. Where a base path in it does not exist, the folder of that name beside the file is taken:
            exports write the paths that containers see. Only an absolute path may lead away from the file.

    Raises:
        ServingError: there is nothing to serve, or the file is not right; says where, and what would be.

    Example:
        >>> [model.name for model in read_config(Path("saved_models")).model_config_list.config]
        ['factory_reports']
    """
    path = Path(os.path.abspath(path))  # a link keeps its name
    if path.is_file():
        return _read(path)
    if not path.is_dir():
        raise ServingError("there is nothing to serve: no such folder or file", where=str(path), remedy=_near(path))
    if model_store.versions(path):
        return _listing(_model(path))
    if os.path.isfile(path / "saved_model.pb"):
        return _one_version(path)
    if os.path.isfile(path / FILE):
        return _read(path / FILE)
    inside, names = _inside(path), model_store.names(path)
    if not names:
        raise ServingError(
            "there is nothing to serve",
            where=str(path),
            expected=f"<version>/saved_model.pb, <model>/<version>/saved_model.pb or {FILE}, a version being a number",
            received=", ".join(strays(path) or inside[:8]) or "an empty folder",
            remedy="Export a model first with `tfattn run` or `tfattn export`.",
        )
    return _listing(*(_model(path / name) for name in names))


def strays(path: Path) -> list[str]:
    """Describe each link that leads out of a folder of models and is therefore not served, one per line."""
    return [] if os.path.isfile(path / FILE) else model_store.strays(path)


def check(model: ModelConfig, *, earlier: Collection[str]) -> None:
    """Check an entry against what a server can serve, with TF Serving's messages where it has any.

    Args:
        model: the entry.
        earlier: the names of the entries before it.

    Raises:
        ServingError: its name stands there twice or is missing, its platform or path is none that there is.
    """
    if not model.name:
        raise ServingError("a model has no name", received=model.base_path)
    if model.name in earlier:
        raise ServingError(
            f"Illegal to list model {model.name} multiple times in config list",
            remedy="Give each entry a name of its own.",
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
            expected="a folder of this machine, from / on",
            received=model.base_path or "none",
        )


def _read(path: Path) -> ModelServerConfig:
    config = ModelServerConfig()
    try:
        text = path.read_text(encoding="utf-8")
        text_format.Parse(text, config)
    except text_format.ParseError as error:
        place = ":".join(str(part) for part in (path, error.GetLine(), error.GetColumn()) if part)
        what = re.sub(r"^\d+:\d+ : ", "", str(error))
        raise ServingError(f"it is no {FILE} ({what})", where=place, remedy=EXAMPLE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the file ({error})", where=str(path)) from None
    models = config.model_config_list.config
    if not models:
        raise ServingError("there is nothing to serve", where=str(path), remedy=EXAMPLE)
    for index, model in enumerate(models):
        try:
            model.base_path = _found(model.base_path, beside=path.parent)
            check(model, earlier=[one.name for one in models[:index]])
            _check_folder(model, path)
        except ServingError as error:
            error.where = _place(path, text, error.received, model.name, model.base_path)
            raise
    return config


def _check_folder(model: ModelConfig, path: Path) -> None:
    if not os.path.isdir(model.base_path):
        raise ServingError(
            f"the folder of model {model.name} is missing",
            expected=f"a folder, there or of that name beside {path.name}",
            received=model.base_path,
            remedy=_near(Path(model.base_path), path.parent),
        )


def _found(base: str, *, beside: Path) -> str:
    """Find the folder of a base path: absolute paths are kept, others are relative to the file."""
    if os.path.isdir(base) and os.path.isabs(base):
        return base
    for place in (beside / base, beside / Path(base).name):
        if base and place.is_dir():
            if not is_inside(place, beside):
                raise ServingError(
                    "the base path leads out of the folder of the file",
                    expected=f"something in {beside}",
                    received=base,
                    remedy=f"Write it from / on if you mean it: {os.path.realpath(place)}.",
                )
            return str(place)
    return base


def _place(path: Path, text: str, *values: str) -> str:
    """Find the file and the last line with the first of some values: of two equal ones, the second is wrong."""
    code = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("#")]
    for value in values:
        lines = [number for number, line in code if f'"{value}"' in line or f"'{value}'" in line]
        if lines:
            return f"{path}:{lines[-1]}"
    return str(path)


def _near(path: Path, *more: Path) -> str:
    """Name what has a similar name nearby."""
    folders = [folder for folder in (path.parent, *more) if folder.is_dir()]
    return nearest(path.name, [name for folder in folders for name in _inside(folder)])


def _inside(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise ServingError(f"cannot read the folder ({error.strerror})", where=str(folder)) from None


def _listing(*models: ModelConfig) -> ModelServerConfig:
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
    return _listing(model)
