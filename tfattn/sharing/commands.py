"""The command that writes an export in the format of another program."""

import contextlib
from pathlib import Path
from typing import Any, Literal

from tfattn import console, files
from tfattn.errors import ConfigError, DataError, nearest
from tfattn.pretrained.own_export import OwnExport
from tfattn.runs.run_export import export_of, is_run
from tfattn.sharing import gguf_file, hugging_face
from tfattn.sharing.trained_export import TrainedExport

Format = Literal["hugging_face", "gguf"]


class SharedManifest(files.Manifest):
    """The manifest of a written folder.

    Attributes:
        format: the format.
        model: the name of the model.
    """

    format: str
    model: str


def share(
    model: str,
    format: Format,
    to: Path | None,
    *,
    folder: Path,
    force: bool = False,
    encoder_only: bool = False,
    precision: gguf_file.Precision | None = None,
) -> Path:
    """Write an export as a folder in the format of another program.

    Args:
        model: the folder of an export, its name in `folder`, or the folder of a run.
        format: the format.
        to: the new folder; by default `<format>/<name>`.
        folder: the folder of all exports.
        force: whether to replace a folder that this command has written.
        encoder_only: for hugging_face, whether to leave out the head of the task.
        precision: for gguf, the precision of matrices; by default float16.

    Returns:
        the new folder.

    Raises:
        ConfigError: there is no such export, the folder exists, or an option is for another format.
        ExportError: the model has no counterpart in the format, or computes something else there.
    """
    _check_option("--encoder-only", encoder_only, format, "hugging_face")
    _check_option("--precision", precision, format, "gguf")
    export = TrainedExport(find(model, folder))
    target = to or Path(format) / export.name
    _check_target(target, force=force)
    with files.atomic_folder(target, format=format, model=export.name) as temporary:
        if format == "gguf":
            gguf_file.write(export, temporary, precision=precision or "float16")
        else:
            hugging_face.write(export, temporary, encoder_only=encoder_only)
    console.note(f"wrote {target}")
    return target


def find(model: str, folder: Path) -> Path:
    """Return the folder of an export.

    Raises:
        ConfigError: there is no such export; suggests the nearest name.
    """
    if is_run(model):
        return export_of(model)
    for path in (Path(model), folder / model):
        if path.is_dir() and OwnExport.matches(path):
            return path
    known = [path.name for path in sorted(folder.iterdir()) if files.numbered(path)] if folder.is_dir() else []
    raise ConfigError(
        "there is no such export",
        expected=f"the folder of an export or of a run, or an export in {folder}/: "
        f"{', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known) or "Run its pipeline first: tfattn run PIPELINE.",
    )


def _check_option(name: str, value: Any, format: Format, of: Format) -> None:
    if value and format != of:
        raise ConfigError(f"{name} is for {of}", expected="no such option", received=str(value))


def _check_target(target: Path, *, force: bool) -> None:
    """Refuse to replace a file, or a folder that this command has not written."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    remedy = "Name another folder with --to."
    with contextlib.suppress(DataError):
        files.read_manifest(target, SharedManifest)
        if force:
            return
        remedy = "Replace it with --force, or name another folder with --to."
    raise ConfigError("the folder exists already", where=str(target), expected="a new folder", remedy=remedy)
