"""Models on hubs: addresses, downloads to the caches of the hubs' packages, and uploads.

An address is resolved to a local folder, which the readers of `pretrained` then read. The content of a hub is not
trusted: only the files of `requested_files` are requested, their names cannot leave the folder, and their checksums are
compared.
"""

from functools import cache
from pathlib import Path

from tfattn.hub.addresses import Address, HubAddress, is_address, is_same, is_same_model, parse
from tfattn.hub.snapshot import Snapshot

__all__ = ["Address", "HubAddress", "Snapshot", "is_address", "is_same", "is_same_model", "local_path", "open", "parse"]


@cache
def open(address: str) -> Snapshot:  # noqa: A001 (read as hub.open)
    """Open a model on a hub. A process resolves a revision once, so that all its files have the same revision.

    Args:
        address: hf://OWNER/NAME, with @REVISION and /PATH if needed, or keras://PRESET.

    Raises:
        ConfigError: the address is wrong, or there is no such model, or it cannot be accessed.
        HubError: the hub cannot be reached, or a file is damaged.
        TfattnError: the files cannot be stored.

    Example:
        >>> hub.open("hf://google-bert/bert-base-chinese").folder
        PosixPath('/home/me/.cache/huggingface/hub/models--google-bert--bert-base-chinese/snapshots/8f23c25...')
    """
    parsed = parse(address)
    if isinstance(parsed, HubAddress):
        from tfattn.hub.hugging_face import HuggingFaceSnapshot

        return HuggingFaceSnapshot(parsed)
    from tfattn.hub.kaggle import KerasSnapshot

    return KerasSnapshot(parsed)


def local_path(path: str | Path) -> Path:
    """Return the local path of a file or folder, which may be an address; weights are not downloaded."""
    return open(path).path if is_address(path) else Path(path)
