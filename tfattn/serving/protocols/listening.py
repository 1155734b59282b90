"""Listening sockets, the number of their connections, and the error for addresses that cannot be used."""

import ipaddress
import resource
import socket

from tfattn.errors import ServingError
from tfattn.serving.monitoring.logs import log
from tfattn.serving.section import Serving

BACKLOG = 2048


def listen(host: str, port: int, *, key: str) -> socket.socket:
    """Open a listening socket.

    Args:
        host: the address to listen on.
        port: the port; 0 selects a free port.
        key: the name of the port's setting, for the error.

    Raises:
        ServingError: the port is in use, or the address does not belong to this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise cannot_listen(host, port, key=key, why=error.strerror or str(error)) from None


def check_exposure(serving: Serving) -> None:
    """Refuse to serve other machines without authentication.

    Raises:
        ServingError: the server would accept requests from other machines without a token.
    """
    if not (is_loopback(serving.host) or serving.token_file or serving.insecure):
        raise ServingError(
            "anybody who can reach this address could use the models",
            where="host",
            expected="127.0.0.1, or a token_file",
            received=serving.host,
            remedy="If only trusted clients can reach it, for example in a container whose ports are open to one "
            "machine, use --set insecure=true.",
        )


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable only from this machine."""
    address = address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address of a host; None if the host is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def cannot_listen(host: str, port: int, *, key: str, why: str) -> ServingError:
    """Create the error for an address that cannot be used, with its reason and remedy."""
    return ServingError(
        f"cannot listen ({why})",
        where=f"{url_host(host)}:{port}",
        remedy=f"Stop the other server, or set another port, for example --set {key}=0 for a free port.",
    )


def url_host(host: str) -> str:
    """Format a host for a URL: IPv6 addresses are enclosed in brackets."""
    return f"[{host}]" if ":" in host else host


SERVER_FILES = 100  # event loops, listening sockets, pipes, and temporarily open files
FILES_PER_VERSION = 6  # the sockets to its process
VERSIONS_PER_MODEL = 2  # while a new version replaces the old
PROTOCOLS = 2  # REST and gRPC, each with its own connections


def connections_within_limit(wanted: int, *, models: int) -> int:
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
