"""Files that tfattn ships, at addresses such as package://configs/models/bert_minilm.yaml.

An installed wheel has `configs/` and `pipelines/` in `tfattn/recipes/` (setup.py); a clone has them next to `tfattn/`.
"""

from importlib import resources
from pathlib import Path

from tfattn.errors import ConfigError, listed, nearest

SCHEME = "package://"
FOLDERS = ("configs", "pipelines")


def shipped_folder(name: str) -> Path:
    """Return the folder `configs` or `pipelines` of this installation."""
    package = Path(str(resources.files("tfattn")))
    installed = package / "recipes" / name
    return installed if installed.is_dir() else package.parent / name


def shipped_files() -> dict[str, Path]:
    """Return the YAML files that tfattn ships, by their address without the scheme."""
    roots = {folder: shipped_folder(folder) for folder in FOLDERS}
    return {
        f"{folder}/{path.relative_to(root).as_posix()}": path
        for folder, root in roots.items()
        for path in sorted(root.rglob("*.yaml"))
    }


def find_shipped(address: str | Path) -> Path:
    """Return the file at a package:// address; any other path is returned as it is.

    Raises:
        ConfigError: there is no such file.

    Example:
        >>> find_shipped("package://pipelines/adult.yaml").name
        'adult.yaml'
    """
    if not str(address).startswith(SCHEME):
        return Path(address)
    name = str(address).removeprefix(SCHEME)
    names = shipped_files()
    if name not in names:
        siblings = [other for other in names if other.rpartition("/")[0] == name.rpartition("/")[0]]
        raise ConfigError(
            "tfattn ships no such file",
            expected=f"{SCHEME} and one of {listed(siblings or names)}",
            received=f"{SCHEME}{name}",
            remedy=nearest(name, names),
        )
    return names[name]
