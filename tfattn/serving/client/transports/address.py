"""The address of a server, and the name of one of its models."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tfattn.errors import ServingError

# What a URL of a server can be, and the port where it names none.
PORTS = {"http": 80, "https": 443, "grpc": 8500, "grpcs": 443}

EXPECTED = "http://HOST:PORT, https://..., grpc://HOST:PORT or grpcs://..."

_MODEL = re.compile(
    r"(?P<prefix>.*?)(?:/v1/models)?/(?P<model>[^/:]+)"
    r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?(?::predict)?/?"
)


@dataclass(frozen=True)
class Spec:
    """A model on a server, and which of its versions.

    Attributes:
        model: the model's name.
        version: the version's number; None for the one that the label names, or else the newest.
        label: the name of a version.
    """

    model: str
    version: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Address:
    """The address of a server.

    Attributes:
        scheme: http, https, grpc or grpcs.
        host: its name or number.
        port: its port.
        path: what stands before /v1 in the paths of REST, such as a gateway's own.
    """

    scheme: str
    host: str
    port: int
    path: str = ""

    @classmethod
    def of(cls, url: str) -> "Address":
        """Read a URL.

        Raises:
            ServingError: it is none, or of another kind.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or PORTS.get(parts.scheme)
        except ValueError as error:
            raise ServingError(f"not an address ({error})", expected=EXPECTED, received=url) from None
        if parts.scheme not in PORTS or not parts.hostname:
            raise ServingError("not an address of a server", expected=EXPECTED, received=url)
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))

    @property
    def is_encrypted(self) -> bool:
        """Whether the server uses TLS."""
        return self.scheme in ("https", "grpcs")

    @property
    def target(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.target}{self.path}"


def is_address(model: str) -> bool:
    """Tell whether a user's name of a model is one on a server."""
    return model.split("://")[0] in PORTS and "://" in model


def with_model(url: str) -> tuple[str, Spec]:
    """Split a URL into the address of a server and the model that follows it.

    Args:
        url: such as http://127.0.0.1:8501/reports, grpc://127.0.0.1:8500/reports/versions/3, or what curl is given:
            http://127.0.0.1:8501/v1/models/reports:predict.

    Raises:
        ServingError: it is not an address, or names no model.
    """
    address = Address.of(url)
    found = _MODEL.fullmatch(address.path)
    if not found or found["model"] in ("v1", "models"):
        raise ServingError(
            "the address names no model, and a server cannot be asked which it has",
            expected=f"{address.scheme}://{address.target}/MODEL",
            received=url,
            remedy="Add the model's name.",
        )
    version = int(found["version"]) if found["version"] else None
    label = unquote(found["label"]) if found["label"] else None
    return f"{address.scheme}://{address.target}{found['prefix']}", Spec(unquote(found["model"]), version, label)
