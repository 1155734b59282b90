"""The exported models in a folder, and the newest version of each."""

import os
from pathlib import Path

from tfattn import files
from tfattn.errors import ServingError, nearest
from tfattn.serving.engine.links import is_inside
from tfattn.serving.models import versions_on_disk


def find(model: str, folder: str | Path = "saved_models") -> Path:
    """Return the folder of a model's newest version.

    Args:
        model: a version's folder, a model's folder with versions in it, or a model's name.
        folder: the folder of all exported models, to look up names.

    Raises:
        ServingError: the model does not exist (the message lists all names and the most similar name), or it is a link
            out of its folder.
    """
    if found := _newest(Path(model)):
        return found
    if found := _newest(Path(folder) / model):
        if not is_inside(found, folder):
            raise _link_error(found, folder)
        return found
    known = names(folder)
    export_first = "" if known else "Export a model first with `tfattn run` or `tfattn export`."
    raise ServingError(
        "there is no such exported model",
        expected=f"a folder with saved_model.pb, or a name in {folder}/: {', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known) or files.similar_path(model) or export_first,
    )


def _is_version(folder: Path) -> bool:
    """Return whether a folder is a version. A damaged export counts, so that no older version replaces it."""
    return any((folder / name).is_file() for name in ("saved_model.pb", files.MANIFEST))


def names(folder: str | Path) -> list[str]:
    """Return the names of the models in a folder that have a version, without links out of the folder."""
    if not Path(folder).is_dir():
        return []
    return sorted(path.name for path in Path(folder).iterdir() if versions(path) and is_inside(path, folder))


def ignored_links(folder: Path) -> list[str]:
    """Return a warning for each model of a folder that is a link out of the folder."""
    if not folder.is_dir():
        return []
    return [
        f"model {path.name} is ignored: it links out of {folder}, to {os.path.realpath(path)}"
        for path in sorted(folder.iterdir())
        if path.is_symlink() and versions(path) and not is_inside(path, folder)
    ]


def versions(folder: Path) -> dict[int, Path]:
    """Return a model's versions by number, ascending; empty if the folder is missing or cannot be read."""
    try:
        return versions_on_disk.complete(folder)
    except OSError:
        return {}


def _newest(folder: Path) -> Path | None:
    if _is_version(folder):
        return folder
    found = [version for version in files.numbered(folder).values() if _is_version(version)]
    inside = [version for version in found if is_inside(version, folder)]
    if found and not inside:
        raise _link_error(found[-1], folder)
    return inside[-1] if inside else None


def _link_error(found: Path, folder: str | Path) -> ServingError:
    return ServingError(
        f"it is a link out of {folder}",
        where=str(found),
        received=os.path.realpath(found),
        remedy="To serve it, pass the folder that the link points to.",
    )
