"""Presets of KerasHub on Kaggle, downloaded by kagglehub to its cache; KerasHub itself only names their addresses.

The package reads the environment: KAGGLE_API_TOKEN, KAGGLEHUB_CACHE and others.
"""

import contextlib
import functools
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tfattn import console, native
from tfattn.errors import ConfigError, HubError, TfattnError, nearest
from tfattn.hub.addresses import KerasAddress
from tfattn.hub.failures import disk_failure
from tfattn.hub.requested_files import ASSETS, CONFIG, KERAS_INDEX, KERAS_WEIGHTS, shards
from tfattn.hub.snapshot import Snapshot

TOKENIZER, IMAGES = "tokenizer.json", "image_converter.json"
# The vocabulary files of a tokenizer; each preset has one group.
VOCABULARIES = (("vocabulary.txt",), ("vocabulary.json", "merges.txt"), ("vocabulary.spm",))
ATTEMPTS = 3  # kagglehub does not repeat a broken download, but a further call continues it
PRESET_PREFIX = "kaggle://"


class KerasSnapshot(Snapshot):
    """A preset of KerasHub, at a version.

    Args:
        address: the name of a preset, or a model on Kaggle.

    Raises:
        ConfigError: there is no such preset or model, or it cannot be accessed.
        HubError: Kaggle cannot be reached, or a file is damaged.
    """

    def __init__(self, address: KerasAddress):
        self._requested = address
        self.address = find_preset(address) if address.is_preset else address
        config = self._fetch(CONFIG)
        self.path = config.parent
        if self.address.version is None and self.path.name.isdigit():
            self.address = replace(self.address, version=int(self.path.name))
        optional = [name for name in (TOKENIZER, IMAGES) if self._fetch(name, is_optional=True)]
        self._names = [CONFIG, *optional, *(self._fetch_vocabulary() if TOKENIZER in optional else ())]

    @cached_property
    def _weights(self) -> list[str]:
        """The files of the weights: one file, or an index and its files."""
        index = self._fetch(KERAS_INDEX, is_optional=True)
        if index is None:
            self._fetch(KERAS_WEIGHTS)
            return [KERAS_WEIGHTS]
        names = shards(index, where=str(self.address))
        for name in names:
            self._fetch(name)
        return [KERAS_INDEX, *names]

    def fetch_weights(self) -> None:
        self._weights  # noqa: B018 (downloaded once)

    def names(self) -> Iterable[str]:
        return [*self._names, *self._weights]

    def _fetch_vocabulary(self) -> list[str]:
        """Download the vocabulary files; without a network, those in the cache."""
        groups = sorted(VOCABULARIES, key=lambda group: not (self.path / ASSETS / group[0]).is_file())
        for first, *others in groups:
            if self._fetch(f"{ASSETS}/{first}", is_optional=True):
                return [f"{ASSETS}/{name}" for name in (first, *others) if self._fetch(f"{ASSETS}/{name}")]
        return []

    def _fetch(self, name: str, *, is_optional: bool = False) -> Path | None:
        """Download a file if it is not in the cache; None if it is optional and missing."""
        import requests
        from kagglehub.exceptions import DataCorruptionError, KaggleApiHTTPError

        for attempt in range(ATTEMPTS):
            try:
                return self._download(name)
            except KaggleApiHTTPError as error:
                status = error.response.status_code
                if is_optional and status == 404:
                    return None
                raise self._refused(status, name) from None
            except DataCorruptionError:
                raise HubError(
                    "the checksum of the downloaded file differs",
                    where=f"{self.address}: {name}",
                    remedy="The file was removed from the cache: run the command again.",
                ) from None
            except (requests.exceptions.RequestException, ConnectionError) as error:
                if (cached := self._cached(name)) is not None:
                    return cached
                if isinstance(error, requests.exceptions.ChunkedEncodingError) and attempt < ATTEMPTS - 1:
                    continue
                if is_optional and hasattr(self, "path"):  # the configuration is in the cache
                    return None
                raise self._unreachable(error) from None
            except OSError as error:
                raise disk_failure(error, _cache_folder(), "KAGGLEHUB_CACHE") or error from None
        return None

    def _download(self, name: str) -> Path:
        if self.address.version is not None and (cached := self._cached(name)) is not None:
            return cached
        kagglehub = import_client()
        handle = f"{self.address.handle}/{self.address.version}" if self.address.version else self.address.handle
        # kagglehub inspects the call stack several times, which takes a second for a deep stack: a thread has its own.
        with console.step(f"downloading {self._requested}: {name}"), _silent(), ThreadPoolExecutor(1) as thread:
            return Path(thread.submit(kagglehub.model_download, handle, name).result())

    def _cached(self, name: str) -> Path | None:
        """Return a file of the newest version in the cache, or of the version of the address; None if there is none."""
        root = _cache_folder() / "models" / self.address.handle
        versions = [self.address.version] if self.address.version else []
        if not versions and root.is_dir():
            versions = sorted((int(path.name) for path in root.iterdir() if path.name.isdigit()), reverse=True)
        done = (root / str(version) / name for version in versions if _is_complete(root, version, name))
        return next(done, None)

    def _refused(self, status: int, name: str) -> TfattnError:
        page = f"https://www.kaggle.com/models/{'/'.join(self.address.handle.split('/')[:2])}"
        if status in (401, 403):
            return ConfigError(
                "the model is private or gated, or there is no such model",
                key="pretrained",
                expected="a token of an account that has access",
                received=f"{self._requested} ({status})",
                remedy=f"Check the name, accept the terms on {page}, create a token in the settings of your account, "
                "and set KAGGLE_API_TOKEN.",
            )
        if status == 404:
            return ConfigError(
                f"there is no such model, or it has no {name}",
                key="pretrained",
                expected=f"a model of KerasHub: {CONFIG} and {KERAS_WEIGHTS}",
                received=str(self._requested),
                remedy=f"Look at {page}.",
            )
        remedy = "Run the command again later. What is in the cache can be used without a network."
        return HubError("Kaggle answers with an error", where=str(self._requested), received=str(status), remedy=remedy)

    def _unreachable(self, error: Exception) -> HubError:
        return HubError(
            "Kaggle cannot be reached, and the model is not in the cache",
            where=str(self._requested),
            expected=f"an answer of Kaggle, or the files in {_cache_folder()}",
            received=f"{type(error).__name__}",
            remedy="Check the network and the proxy; or copy the cache, and name it in KAGGLEHUB_CACHE. What is "
            "complete is kept: run the command again.",
        )


def find_preset(address: KerasAddress) -> KerasAddress:
    """Return the model on Kaggle, with its version, that the installed KerasHub has for the name of a preset.

    Raises:
        ConfigError: KerasHub is not installed, or has no such preset; suggests the nearest name.
    """
    try:
        with native.errors_hidden():
            native.import_tensorflow()
            import keras_hub
    except ImportError:
        raise _not_installed("keras-nlp") from None
    presets = keras_hub.models.Backbone.presets
    if address.handle not in presets:
        raise ConfigError(
            "KerasHub has no such preset",
            key="pretrained",
            expected="a preset of https://keras.io/keras_hub/presets, or keras://OWNER/MODEL/keras/VARIATION",
            received=str(address),
            remedy=nearest(address.handle, presets),
        )
    handle = presets[address.handle]["kaggle_handle"].removeprefix(PRESET_PREFIX)
    model, _, version = handle.rpartition("/")
    return KerasAddress(model, int(version)) if version.isdigit() else KerasAddress(handle)


def import_client():  # noqa: ANN201 (a module)
    """Import kagglehub.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import kagglehub
    except ImportError:
        raise _not_installed("kagglehub") from None
    return kagglehub


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Hide the messages of kagglehub, which go to standard output, and its bars, which need no terminal."""
    from kagglehub import clients

    logger = logging.getLogger("kagglehub")
    level, bar = logger.level, clients.tqdm
    logger.setLevel(logging.WARNING)
    clients.tqdm = functools.partial(bar, disable=True)
    try:
        yield
    finally:
        logger.setLevel(level)
        clients.tqdm = bar


def _not_installed(package: str) -> ConfigError:
    return ConfigError(
        f"the package {package} is not installed", key="pretrained", remedy="Run: pip install 'tfattn[hub]'"
    )


def _cache_folder() -> Path:
    from kagglehub.config import get_cache_folder

    return Path(get_cache_folder())


def _is_complete(root: Path, version: int, name: str) -> bool:
    """Return whether a file was downloaded completely; kagglehub marks such files."""
    return (root / ".complete" / str(version) / f"{name}.complete").is_file() and (root / str(version) / name).is_file()
