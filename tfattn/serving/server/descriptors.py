"""The limit of file descriptors, shared by connections and the processes of versions."""

import resource

from tfattn.errors import ServingError
from tfattn.serving.monitoring.logs import log

SERVER_FILES = 100  # event loops, listening sockets, pipes, and temporarily open files
FILES_PER_VERSION = 6  # the sockets to its process
VERSIONS_PER_MODEL = 2  # while a new version replaces the old
PROTOCOLS = 2  # REST and gRPC, each with its own connections


def connections(wanted: int, *, models: int) -> int:
    """Return the possible number of connections per protocol, after raising the process's limit of open files.

    Args:
        wanted: the desired number of concurrent connections per protocol.
        models: the number of served models.

    Returns:
        The possible number of connections, at most `wanted`; a smaller number is logged.

    Raises:
        ServingError: the limit is too low for the server itself.

    Example:
        >>> connections(1000, models=3)
        1000
    """
    server_files = SERVER_FILES + models * VERSIONS_PER_MODEL * FILES_PER_VERSION
    needed = server_files + wanted * PROTOCOLS
    limit = _raise_limit(needed)
    possible = min(wanted, (limit - server_files) // PROTOCOLS)
    if possible < 1:
        raise ServingError(
            "the server may open too few files",
            expected=f"{needed} file descriptors, for {models} models and {wanted} connections of each protocol",
            received=f"a limit of {limit}",
            remedy=f"Raise the limit, for example with `ulimit -n {needed}`.",
        )
    if possible < wanted:
        log("few_file_descriptors", limit=limit, wanted=needed, max_connections=possible)
    return possible


def _raise_limit(needed: int) -> int:
    """Raise the limit of this process as far as needed and allowed; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= needed:
        return needed
    raised = needed if hard == unlimited else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return raised
