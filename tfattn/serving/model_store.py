"""Which exported models there are, and where the newest version of one stands."""

from pathlib import Path

from tfattn import files
from tfattn.errors import ServingError, nearest
from tfattn.serving import versions_on_disk


def find(model: str, folder: str | Path = "saved_models") -> Path:
    """The folder of a model's newest version.

    Args:
        model: a version's folder, a model's folder with versions in it, or a model's name.
        folder: the folder of all exported models, in which names are looked up.

    Raises:
        ServingError: there is none; lists the names and suggests the nearest.
    """
    for place in (Path(model), Path(folder) / model):
        if _is_version(place):
            return place
        there = [version for version in files.numbered(place).values() if _is_version(version)]
        if there:
            return there[-1]
    known = names(folder)
    first = "" if known else "Export one first with `tfattn run` or `tfattn export`."
    raise ServingError(
        "there is no such exported model",
        expected=f"a folder with saved_model.pb, or a name in {folder}/: {', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known) or first,
    )


def _is_version(folder: Path) -> bool:
    """A version of ours that has lost its graph is damaged: an older one must not answer in its place."""
    return any((folder / name).is_file() for name in ("saved_model.pb", files.MANIFEST))


def names(folder: str | Path) -> list[str]:
    """The models of a folder that have a version, by name."""
    if not Path(folder).is_dir():
        return []
    return sorted(path.name for path in Path(folder).iterdir() if versions(path))


def versions(folder: Path) -> dict[int, Path]:
    """A model's versions by number, ascending; none where there is no folder, or none that may be read."""
    try:
        return versions_on_disk.complete(folder)
    except OSError:
        return {}
