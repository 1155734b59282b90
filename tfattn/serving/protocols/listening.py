"""Listening sockets, and the error for addresses that cannot be used."""

import ipaddress
import socket

from tfattn.errors import ServingError
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
