"""The data section: what its parts need of each other is checked before anything is read."""

import pytest

from tfattn.data.batching import Batching
from tfattn.data.csv_files import CsvFile
from tfattn.data.section import Data
from tfattn.data.split import Split
from tfattn.errors import ConfigError
from tfattn.preprocessing.preprocessor import Preprocessor


def data(**parts):
    source = CsvFile(path="none.csv", fields={"text": "a", "label": "b"})
    defaults = {"source": source, "preprocessing": Tokenizer(), "batching": Batching(batch_size=2), "split": Split()}
    return Data(**defaults | parts)


class Tokenizer(Preprocessor):
    fields = ("text",)


def test_nothing_is_read_when_it_is_built():
    assert data().sources.keys() == {"source"}


@pytest.mark.parametrize("key", ["source", "validation_source"])
def test_every_role_needs_a_column(key):
    with pytest.raises(
        ConfigError, match="no column is given for `text`: expected `text: COLUMN`.*Did you mean `texts`"
    ) as error:
        data(**{key: CsvFile(path="none.csv", fields={"texts": "a", "label": "b"})})
    assert error.value.key == f"{key}.fields"
    with pytest.raises(ConfigError, match="no column is given for `label`"):
        data(**{key: CsvFile(path="none.csv", fields={"text": "a"})})


def test_there_must_be_rows_that_measure():
    with pytest.raises(ConfigError, match="no rows are left to measure") as error:
        data(split=Split(validation=0))
    assert error.value.key == "split.validation"
    data(split=Split(validation=0), validation_source=CsvFile(path="v.csv", fields={"text": "a", "label": "b"}))


def test_fingerprints_follow_the_content(tmp_path):
    path = tmp_path / "a.csv"
    source = CsvFile(path=str(path), fields={"text": "a", "label": "b"})
    path.write_text("a,b\n1,2\n")
    first = data(source=source).fingerprints()
    path.write_text("a,b\n1,3\n")
    assert data(source=source).fingerprints().keys() == first.keys()
    assert data(source=source).fingerprints() != first
