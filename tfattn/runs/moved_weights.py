"""A note about pretrained weights on a hub whose revision has moved since the newest run."""

from tfattn import console, hub
from tfattn.config.read import read_yaml
from tfattn.config.schema import Config
from tfattn.errors import ConfigError
from tfattn.runs.run import LATEST, Run


def note_moved_weights(run: Run) -> None:
    """Note that a run starts from another revision than the newest run, and how to continue that run.

    A revision such as `main` may move to another commit. The commit is a part of the id of a run: the finished stages
    of the other run are not used.
    """
    newest = (run.folder.parent / LATEST / "config.yaml").resolve()
    if run.folder.exists() or not newest.is_file():
        return
    try:
        before = Config(read_yaml(newest).values, {}).published
    except (ConfigError, LookupError, TypeError):
        return  # a damaged file is reported by the run that reads it
    for path, source in run.config.published.items():
        earlier = before.get(path)
        if earlier == source or not (hub.is_address(earlier) and hub.is_address(source)):
            continue
        if hub.is_same_model(hub.parse(earlier), hub.parse(source)):
            key = f"{'.'.join(path)}.pretrained"
            console.note(
                f"{key}: {source} is not the revision of the run {newest.parent.name}, so this is a new run. To "
                f"continue the other run, set {key}={earlier}"
            )
