"""The exported models in a folder, and the newest version of each."""

import os
from pathlib import Path

from tfattn import files
from tfattn.errors import ServingError, nearest
from tfattn.serving.engine.links import is_inside
from tfattn.serving.models import versions_on_disk


def find(model: str, folder: str | Path = "saved_models") -> Path:
    """Find the folder of a model's newest version.

    Args:
        model: a version's folder, a model's folder with versions in it, or a model's name.
        folder: the folder of all exported models, in which names are looked up.

    Raises:
        ServingError: there is none; lists the names and suggests the nearest. Or it is a link out of its folder.
    """
    if found := _newest(Path(model)):
        return found
    if found := _newest(Path(folder) / model):
        if not is_inside(found, folder):
            raise _leads_out(found, folder)
        return found
    known = names(folder)
    first = "" if known else "Export one first with `tfattn run` or `tfattn export`."
    raise ServingError(
        "there is no such exported model",
        expected=f"a folder with saved_model.pb, or a name in {folder}/: {', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known) or first,
    )


def _is_version(folder: Path) -> bool:
    """Tell whether a folder is a version; a damaged one of ours is, so that no older one answers in its place."""
    return any((folder / name).is_file() for name in ("saved_model.pb", files.MANIFEST))


def names(folder: str | Path) -> list[str]:
    """List the models of a folder that have a version, by name; links out of the folder are excluded."""
    if not Path(folder).is_dir():
        return []
    return sorted(path.name for path in Path(folder).iterdir() if versions(path) and is_inside(path, folder))


def strays(folder: Path) -> list[str]:
    """Describe each model of a folder that is a link out of it, one per line; none where there is no folder."""
    if not folder.is_dir():
        return []
    return [
        f"model {path.name} is left alone: it leads out of {folder}, to {os.path.realpath(path)}"
        for path in sorted(folder.iterdir())
        if path.is_symlink() and versions(path) and not is_inside(path, folder)
    ]


def versions(folder: Path) -> dict[int, Path]:
    """List a model's versions by number, ascending; none where there is no folder, or none that may be read."""
    try:
        return versions_on_disk.complete(folder)
    except OSError:
        return {}


def _newest(place: Path) -> Path | None:
    if _is_version(place):
        return place
    there = [version for version in files.numbered(place).values() if _is_version(version)]
    inside = [version for version in there if is_inside(version, place)]
    if there and not inside:
        raise _leads_out(there[-1], place)
    return inside[-1] if inside else None


def _leads_out(found: Path, folder: str | Path) -> ServingError:
    return ServingError(
        f"it is a link out of {folder}",
        where=str(found),
        received=os.path.realpath(found),
        remedy="Give the folder that it leads to if that is the one you mean.",
    )
