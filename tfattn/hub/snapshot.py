"""The contract of models on hubs: their files in the cache of the hub's package."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

from tfattn.hub.addresses import Address

README = "README.md"
MAX_HEADER = 1 << 16  # of a README.md, in characters
# A field of the header of a README.md with a single value.
_FIELD = r"\A---\n(?:(?!---$).*\n)*?{}: *(?P<value>[\w.'\"+-]+) *$"


class Snapshot(ABC):
    """The files of a model at one revision, in a folder of the cache.

    The configuration, the tokenizer and the license are downloaded first, so that an unsupported model is refused
    before its weights are downloaded. Weights are downloaded by `fetch_weights`.

    Attributes:
        address: the address with the revision that is read; it always has the same content.
        path: the folder, or the file that the address names.
    """

    address: Address
    path: Path

    @abstractmethod
    def fetch_weights(self) -> None:
        """Download the weights if they are not in the cache, and check them.

        Raises:
            ConfigError: the repository has no weights that can be read.
            HubError: the weights cannot be downloaded, or are damaged.
        """

    @abstractmethod
    def names(self) -> Iterable[str]:
        """Return the paths of all files that are read, relative to the folder, weights included."""

    @property
    def license(self) -> str | None:
        """The license that README.md states in its header; None if there is none."""
        return self._field("license")

    @property
    def language(self) -> str | None:
        """The language that README.md states in its header; None if it states none, or several."""
        return self._field("language")

    def _field(self, name: str) -> str | None:
        readme = self.folder / README
        if not readme.is_file():
            return None
        with readme.open(encoding="utf-8", errors="replace") as file:
            match = re.search(_FIELD.format(name), file.read(MAX_HEADER), flags=re.MULTILINE)
        return match["value"].strip("'\"") if match else None

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return self.path if self.path.is_dir() else self.path.parent
