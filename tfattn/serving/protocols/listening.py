"""Sockets to listen on, and one clear error where that is not possible."""

import ipaddress
import socket

from tfattn.errors import ServingError
from tfattn.serving.section import Serving

BACKLOG = 2048


def listen(host: str, port: int, *, key: str) -> socket.socket:
    """Open a socket that listens.

    Args:
        host: the address to listen on.
        port: 0 takes a free one.
        key: the setting that names the port, for the error.

    Raises:
        ServingError: the port is taken, or the address is not of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise cannot_listen(host, port, key=key, why=error.strerror or str(error)) from None


def check_exposure(serving: Serving) -> None:
    """Refuse to let everybody in who reaches this machine.

    Raises:
        ServingError: the server would listen beyond this machine, and ask for no token.
    """
    if not (is_loopback(serving.host) or serving.token_file or serving.insecure):
        raise ServingError(
            "anybody who reaches this address could use the models",
            where="host",
            expected="127.0.0.1, or a token_file",
            received=serving.host,
            remedy="Where only those can reach it who may, such as in a container whose ports are open to one machine: "
            "--set insecure=true.",
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    address = address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is; None where it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def cannot_listen(host: str, port: int, *, key: str, why: str) -> ServingError:
    """Make the error of an address that cannot be used, with its reason and remedy."""
    return ServingError(
        f"cannot listen ({why})",
        where=f"{shown(host)}:{port}",
        remedy=f"End the other server, or give another port, such as --set {key}=0 for any that is free.",
    )


def shown(host: str) -> str:
    """Write a host as it stands before a port."""
    return f"[{host}]" if ":" in host else host
