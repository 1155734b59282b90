"""Addresses of servers and models, and the signatures of a version."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tfattn.errors import ServingError

# The schemes of URLs, with their default ports.
PORTS = {"http": 80, "https": 443, "grpc": 8500, "grpcs": 443}

EXPECTED = "http://HOST:PORT, https://..., grpc://HOST:PORT or grpcs://..."

_MODEL = re.compile(
    r"(?P<prefix>.*?)(?:/v1/models)?/(?P<model>[^/:]+)"
    r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?(?::predict)?/?"
)


@dataclass(frozen=True)
class Spec:
    """A version of a model on a server.

    Attributes:
        model: the model's name.
        version: the version's number; None for the version of the label, or else the newest version.
        label: the label of a version.
    """

    model: str
    version: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Address:
    """The address of a server.

    Attributes:
        scheme: http, https, grpc or grpcs.
        host: the host name or IP address.
        port: the port.
        path: the prefix of REST paths before /v1, for example of a gateway.
    """

    scheme: str
    host: str
    port: int
    path: str = ""

    @classmethod
    def of(cls, url: str) -> "Address":
        """Parse a URL.

        Raises:
            ServingError: it is not a URL, or has another scheme.
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
    """Return whether a model is given by an address on a server."""
    return model.split("://")[0] in PORTS and "://" in model


def with_model(url: str) -> tuple[str, Spec]:
    """Split a URL into the address of a server and a model.

    Args:
        url: such as http://127.0.0.1:8501/reports, grpc://127.0.0.1:8500/reports/versions/3, or the URL of a request,
            http://127.0.0.1:8501/v1/models/reports:predict.

    Raises:
        ServingError: it is not an address, or has no model.
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


@dataclass(frozen=True)
class Function:
    """The inputs and outputs of a signature.

    Attributes:
        inputs: the types of inputs by name, such as DT_STRING.
        lists: the inputs with a list of texts per row.
        optional: the optional inputs.
        outputs: the names of outputs.
    """

    inputs: dict[str, str]
    lists: frozenset[str]
    optional: frozenset[str]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Metadata:
    """The signatures of a version.

    Attributes:
        version: the version's number.
        signatures: the signatures by name.
    """

    version: int
    signatures: dict[str, Function]
