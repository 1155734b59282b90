"""Serving of exported models: batch prediction, a server, and a client."""

from typing import Any

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from tfattn.serving.client.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
