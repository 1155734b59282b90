"""The limit of file descriptors: enough for the processes of versions beside the connections."""

import resource

from tfattn.errors import ServingError
from tfattn.serving.monitoring.logs import log

OWN = 100  # event loops, sockets that listen, pipes, and files that are read for a moment
VERSION = 6  # the lines to its process
AT_A_TIME = 2  # versions of a model, while they change places
PROTOCOLS = 2  # REST and gRPC, each with connections of its own


def connections(wanted: int, *, models: int) -> int:
    """Make room for connections beside what the server itself needs; raise the process's limit where possible.

    Args:
        wanted: how many connections there may be at a time, of each protocol.
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
    needed = least + wanted * PROTOCOLS
    limit = _raised(needed)
    possible = min(wanted, (limit - least) // PROTOCOLS)
    if possible < 1:
        raise ServingError(
            "the server may open too few files",
            expected=f"{needed} file descriptors, for {models} models and {wanted} connections of each protocol",
            received=f"a limit of {limit}",
            remedy=f"Raise it, such as with `ulimit -n {needed}`.",
        )
    if possible < wanted:
        log("few_file_descriptors", limit=limit, wanted=needed, max_connections=possible)
    return possible


def _raised(needed: int) -> int:
    """Raise the limit of this process as far as needed and allowed, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= needed:
        return needed
    raised = needed if hard == unlimited else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return raised
