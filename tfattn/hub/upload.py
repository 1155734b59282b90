"""Uploads of a folder to a repository of the Hugging Face hub."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tfattn import console, files
from tfattn.errors import ConfigError, HubError
from tfattn.hub.addresses import HubAddress, is_address, parse
from tfattn.hub.failures import hub_failures
from tfattn.hub.hugging_face import LIBRARY, import_client

# Hidden files are locks and leftovers; tokens are often kept in them, too.
NEVER_UPLOADED = (".*", "**/.*", "*.lock", "*.log")


def push(folder: Path, address: str, *, private: bool = False, message: str = "Upload a tfattn model") -> HubAddress:
    """Upload a folder: an export, or a folder in the format of Hugging Face. The repository is created if needed.

    An export is verified first. Files of the repository that are not in the folder are kept.

    Args:
        folder: the folder, such as a version of an export.
        address: hf://OWNER/NAME, with @BRANCH or /FOLDER if needed.
        private: whether a new repository is private; an existing repository is not changed.
        message: the title of the commit.

    Returns:
        the address with the new commit.

    Raises:
        ConfigError: the folder or the address is wrong, or the account has no permission.
        DataError: a file of the export is damaged.
        HubError: the hub cannot be reached, or answers with an error.
    """
    target = parse(address) if is_address(address) else None
    if not isinstance(target, HubAddress):
        raise ConfigError("not the address of a repository", expected="hf://OWNER/NAME", received=address)
    if not folder.is_dir() or not any(folder.iterdir()):
        raise ConfigError("there is no such folder with files", expected="a folder to upload", received=str(folder))
    if (folder / files.MANIFEST).is_file():
        files.verify(folder)
    _check_readable(folder)
    with _failures(target):
        client = import_client()
        api = client.HfApi(**LIBRARY)
        if api.token is None and client.get_token() is None:
            raise ConfigError(
                "an upload needs a token",
                expected="a token with write permission",
                remedy=f"Create one on {api.endpoint}/settings/tokens, and run `hf auth login`, or set HF_TOKEN.",
            )
        api.create_repo(target.repository, private=private or None, exist_ok=True)
        with console.step(f"uploading {folder} to {target}"), _own_bars():
            done = api.upload_folder(
                repo_id=target.repository,
                folder_path=str(folder),
                path_in_repo=target.path or None,
                revision=target.revision,
                commit_message=message,
                ignore_patterns=list(NEVER_UPLOADED),
            )
    return replace(target, revision=done.oid)


def _check_readable(folder: Path) -> None:
    """Refuse links that leave the folder: their targets would be uploaded."""
    root = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise ConfigError(
                "a link leaves the folder",
                where=str(path),
                expected=f"files in {folder}",
                received=str(path.resolve()),
                remedy="Replace the link by a copy of the file.",
            )


@contextlib.contextmanager
def _failures(target: HubAddress) -> Iterator[None]:
    """Convert the exceptions of the client; a missing permission has its own remedy."""
    try:
        with hub_failures(str(target), target.repository):
            yield
    except HubError as error:
        if error.received.startswith(("401", "403")):
            raise ConfigError(
                "the token has no permission to write here",
                expected=f"a token that may write to {target.repository.partition('/')[0]}",
                received=f"{error.received} ({target})",
                remedy="Create a token with write permission, and run `hf auth login`, or set HF_TOKEN.",
            ) from None
        raise


@contextlib.contextmanager
def _own_bars() -> Iterator[None]:
    """Hide the bars of the client, unless they are hidden already."""
    from huggingface_hub import utils

    if utils.are_progress_bars_disabled():
        yield
        return
    utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.enable_progress_bars()
