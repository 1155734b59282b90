"""The suffix of a name chooses the format, or the error names the suffixes that there are."""

import pytest

from tfattn import files
from tfattn.errors import ConfigError


@pytest.mark.parametrize(("path", "kind"), [("a.csv", 1), ("folder.x/a.b.TSV", 2)])
def test_a_suffix_says_what_to_write(path, kind):
    assert files.by_suffix(path, {".csv": 1, ".tsv": 2}) == kind


@pytest.mark.parametrize(
    ("path", "received"), [("a.html", "'.html'"), ("csv", "none"), (".csv", "none"), ("-", "none")]
)
def test_another_suffix_names_those_that_there_are(path, received):
    with pytest.raises(ConfigError, match=f"expected one of .csv, .tsv, received {received}"):
        files.by_suffix(path, {".csv": 1, ".tsv": 2})
