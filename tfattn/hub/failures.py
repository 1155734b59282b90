"""Messages for the failures of huggingface_hub: what happened, and what to do."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from tfattn.errors import ConfigError, HubError, TfattnError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def hub_failures(where: str, repository: str) -> Iterator[None]:
    """Convert the exceptions of huggingface_hub within the block.

    Args:
        where: the address, for messages.
        repository: the owner and the name.

    Raises:
        ConfigError: the repository or the revision does not exist or cannot be accessed.
        HubError: the hub cannot be reached or answers with an error, the token is refused, or a file is incomplete.
        TfattnError: the disk is full, or the cache is not writable.
    """
    try:
        yield
    except TfattnError:
        raise
    except Exception as error:
        if (message := _message(error, where, repository)) is None:
            raise
        raise message from None


def _message(error: Exception, where: str, repository: str) -> TfattnError | None:
    from huggingface_hub import constants, errors

    # Both wrap the error for which the client has looked into the cache.
    wrappers = (errors.LocalEntryNotFoundError, errors.RevisionResolutionError)
    while isinstance(error, wrappers) and error.__cause__ is not None:
        error = error.__cause__
    page = f"{constants.ENDPOINT}/{repository}"
    if isinstance(error, errors.GatedRepoError):
        return ConfigError(
            "the model is gated: its owner grants access",
            key="pretrained",
            expected="a token of an account that has access",
            received=where,
            remedy=f"Accept the terms on {page}, create a token on {constants.ENDPOINT}/settings/tokens, and run "
            "`hf auth login`, or set HF_TOKEN.",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return ConfigError(
            "there is no such repository, or it is private",
            key="pretrained",
            expected=f"a repository of {constants.ENDPOINT}",
            received=where,
            remedy="Check the owner and the name. For a private repository, run `hf auth login`, or set HF_TOKEN.",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ConfigError(
            "the repository has no such revision",
            key="pretrained",
            expected=f"a branch, a tag or a commit, as listed on {page}/tree/main",
            received=where,
        )
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return HubError("the repository has no such file", where=where, received=str(error.response.url))
    if isinstance(error, errors.HfHubHTTPError):
        return _of_status(error, where)
    if isinstance(error, errors.HFValidationError):
        return ConfigError("not the name of a repository", key="pretrained", received=f"{where} ({error})")
    if isinstance(error, OSError):
        failure = disk_failure(error, constants.HF_HUB_CACHE, "HF_HUB_CACHE")
        if failure is not None:
            return failure
    if isinstance(error, OSError) and str(error).startswith("Consistency check failed"):
        return _incomplete(where, str(error).partition("\n")[0])
    if _is_of_connection(error):
        return _unreachable(error, where)
    if isinstance(error, (errors.FileMetadataError, AssertionError, KeyError, TypeError, ValueError)):
        return HubError(
            "the server does not answer as a hub does",
            where=where,
            expected=f"the hub's protocol at {constants.ENDPOINT}",
            received=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200],
            remedy="Check HF_ENDPOINT and the proxy.",
        )
    return None


def _of_status(error: Exception, where: str) -> HubError:
    """Return the message for an HTTP status."""
    status = error.response.status_code
    remedy = {
        401: "The token is wrong or has expired: run `hf auth login`, or set HF_TOKEN to another token.",
        403: "The token has no permission: create one with it, and run `hf auth login`, or set HF_TOKEN.",
        416: "Run the command again.",
        429: "Wait some minutes, or send a token: run `hf auth login`, or set HF_TOKEN.",
    }.get(status, "Run the command again later. What is in the cache can be used with HF_HUB_OFFLINE=1.")
    stated = error.response.headers.get("X-Error-Message") or error.response.reason_phrase
    return HubError(
        "the hub answers with an error",
        where=where,
        received=f"{status} {stated} for {error.response.url.copy_with(query=None)}",
        remedy=remedy,
    )


def _unreachable(error: Exception, where: str) -> HubError:
    from huggingface_hub import constants

    if constants.is_offline_mode():
        return HubError(
            "the model is not in the cache, and HF_HUB_OFFLINE is set",
            where=where,
            expected=f"its files in {constants.HF_HUB_CACHE}",
            remedy="Unset HF_HUB_OFFLINE, or download it where there is a network: copy the cache, and name it in "
            "HF_HUB_CACHE.",
        )
    return HubError(
        "the hub cannot be reached, and the model is not in the cache",
        where=where,
        expected=f"an answer of {constants.ENDPOINT}, or the files in {constants.HF_HUB_CACHE}",
        received=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200],
        remedy="Check the network and the proxy; HF_ENDPOINT names a mirror. What is complete is kept: run the command "
        "again.",
    )


def disk_failure(error: OSError, cache: str | Path, variable: str) -> TfattnError | None:
    """Return the message for a full disk or a folder that is not writable; None for other errors.

    Args:
        error: the error of the operating system.
        cache: the folder of the downloads.
        variable: the environment variable that names the folder.
    """
    if error.errno in _FULL:
        return TfattnError(
            f"the model cannot be stored ({error.strerror})",
            where=str(cache),
            expected="enough space on the disk",
            remedy=f"Free some space, or name another folder in {variable}. Complete files are kept.",
        )
    if error.errno in _UNWRITABLE:
        what = f"cannot write here ({error.strerror})"
        where = str(error.filename or cache)
        return TfattnError(what, where=where, remedy=f"Name a writable folder in {variable}.")
    return None


def _incomplete(where: str, received: str) -> HubError:
    remedy = "The file was removed: run the command again. If it stays incomplete, the server or the mirror is damaged."
    return HubError("a file was not downloaded completely", where=where, received=received, remedy=remedy)


def _is_of_connection(error: Exception) -> bool:
    """Return whether the hub was not reached."""
    from huggingface_hub import errors

    if isinstance(error, (errors.LocalEntryNotFoundError, errors.RevisionResolutionError, ConnectionError)):
        return True
    # Of httpx, or of a fork of it: versions of the client differ.
    return any(kind.__name__ == "TransportError" for kind in type(error).__mro__)
