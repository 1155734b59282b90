"""Sockets to listen on, and one clear error where that is not possible."""

import socket

from tfattn.errors import ServingError

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
