"""File descriptors: enough for the processes of versions, whatever the connections take."""

import resource

from tfattn.errors import ServingError
from tfattn.serving.logs import log

OWN = 100  # event loops, sockets that listen, pipes, and files that are read for a moment
VERSION = 6  # the lines to its process
AT_A_TIME = 2  # versions of a model, while they change places


def connections(wanted: int, *, models: int) -> int:
    """Makes room for connections beside what the server itself needs; raises the process's limit where it may.

    Args:
        wanted: how many connections there may be at a time.
        models: how many models are served.

    Returns:
        how many there can be; where these are fewer, the log says so.

    Raises:
        ServingError: there is not even room for the server itself.

    Example:
        >>> connections(1000, models=3)
        1000
    """
    least = OWN + models * AT_A_TIME * VERSION
    limit = _raised(least + wanted)
    if limit > least + wanted:
        return wanted
    if limit <= least:
        raise ServingError(
            "the server may open too few files",
            expected=f"{least + wanted} file descriptors, for {models} models and {wanted} connections",
            received=f"a limit of {limit}",
            remedy=f"Raise it, such as with `ulimit -n {least + wanted + 1}`.",
        )
    log("few_file_descriptors", limit=limit, wanted=least + wanted + 1, max_connections=limit - least)
    return limit - least


def _raised(needed: int) -> int:
    """The limit of this process, as high as it may be where that is needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft > needed:
        return needed + 1 if soft == unlimited else soft
    raised = needed + 1 if hard == unlimited else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return raised
