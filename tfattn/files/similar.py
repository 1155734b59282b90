"""Suggestions for a path that does not exist."""

from itertools import islice
from pathlib import Path

from tfattn.errors import nearest
from tfattn.files.shipped import SCHEME, shipped_files
from tfattn.similar_names import similar_names

MAX_COMPARED = 2_000  # entries of a folder


def similar_path(path: object) -> str:
    """Return a sentence that suggests an existing file or folder for a path; "" if there is none that is similar.

    Args:
        path: a path, or its text; addresses such as s3:// have no suggestion.
    """
    if "://" in str(path) or (path := Path(str(path))).exists():
        return ""
    found = Path(path.anchor)
    for number, part in enumerate(path.parts[bool(path.anchor) :], start=bool(path.anchor) + 1):
        if part != ".." and not (found / part).exists():
            similar = similar_names(part, _names(found, only_folders=number < len(path.parts)))
            if not similar:
                return ""
            part = similar[0]
        found /= part
    return f"Did you mean `{found}`?"


def similar_shipped(path: Path) -> str:
    """Return a sentence that suggests a file that tfattn ships, by its path or by its name."""
    shipped = shipped_files()
    by_name = {Path(name).stem: name for name in shipped}
    if path.stem in by_name:
        return f"Did you mean `{SCHEME}{by_name[path.stem]}`?"
    return nearest(f"{SCHEME}{path.as_posix()}", [f"{SCHEME}{name}" for name in shipped]) if path.suffix else ""


def _names(folder: Path, *, only_folders: bool) -> list[str]:
    if not folder.is_dir():
        return []
    entries = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return sorted(entry.name for entry in islice(entries, MAX_COMPARED) if not only_folders or entry.is_dir())
