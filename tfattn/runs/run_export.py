"""The export of a run."""

from pathlib import Path

from tfattn import files
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.errors import ConfigError

CONFIG = "config.yaml"


def is_run(path: str | Path) -> bool:
    """Return whether a path is the folder of a run."""
    return (Path(path) / CONFIG).is_file()


def export_of(run: str | Path) -> Path:
    """Return the newest export with the configuration of a run.

    Raises:
        ConfigError: there is none.
    """
    run = Path(run)
    config = resolve(run / CONFIG)
    section = build(config, "export")
    text = (run / CONFIG).read_text(encoding="utf-8")
    for version in reversed(files.numbered(Path(section.folder) / config.values["name"]).values()):
        made_by = version / "assets.extra" / CONFIG
        if made_by.is_file() and made_by.read_text(encoding="utf-8") == text:
            return version
    raise ConfigError("the run has no export", where=str(run), remedy=f"Export it first: tfattn export {run / CONFIG}")
