"""The data section: requirements between parts are checked before reading."""

import pytest

from tfattn.data.batching import Batching
from tfattn.data.examples.chat_examples import ChatExamples
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.tag_targets import Tags
from tfattn.data.examples.targets import Target
from tfattn.data.section import Data
from tfattn.data.split_config import Split
from tfattn.errors import ConfigError
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor


def data(**parts):
    source = CsvFile(path="none.csv", fields={"text": "a", "label": "b"})
    defaults = {"source": source, "preprocessing": Tokenizer(), "batching": Batching(batch_size=2), "split": Split()}
    return Data(**defaults | {"targets": Classes(), "examples": Examples()} | parts)


class Chats(ChatExamples):
    def require(self, preprocessor):
        """Accept any preprocessor: building a tokenizer takes long."""


class Tokenizer(Preprocessor):
    fields = ("text",)


def test_building_a_section_reads_nothing():
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


def test_a_missing_role_of_chats_names_the_formats_of_chats():
    source, other = (CsvFile(path="none.csv", fields={role: role}) for role in ("messages", "prompt"))
    with pytest.raises(ConfigError, match="no column is given for `messages`.*from` and `value` .ShareGPT"):
        data(source=source, validation_source=other, targets=Target(), examples=Chats())


def test_a_column_named_label_is_not_a_target_of_other_tasks():
    assert data().needed_roles("source") == ("text", "label")
    assert data(targets=Target()).needed_roles("source") == ("text",)
    assert data(targets=Target(), source=CsvFile(path="none.csv", fields={"text": "a"})).needed_roles("source") == (
        "text",
    )


def test_balancing_requires_classes():
    with pytest.raises(ConfigError, match="there are no classes to balance") as error:
        data(targets=Target(), batching=Batching(batch_size=2, balanced=True))
    assert error.value.key == "batching.balanced"


def test_fingerprints_follow_the_content(tmp_path):
    path = tmp_path / "a.csv"
    source = CsvFile(path=str(path), fields={"text": "a", "label": "b"})
    path.write_text("a,b\n1,2\n")
    first = data(source=source).fingerprints()
    path.write_text("a,b\n1,3\n")
    assert data(source=source).fingerprints().keys() == first.keys()
    assert data(source=source).fingerprints() != first


class Columns(Preprocessor):
    fields = ("age", "job")
    reads_columns = True


def table_data(fields=None, **parts):
    source = CsvFile(path="none.csv", fields=fields or {"label": "kind", "sample": "Sample"})
    return data(source=source, preprocessing=Columns(), **parts)


def test_an_identifier_is_no_input_of_a_model():
    assert table_data({"label": "kind", "id": "Number"}).source.fields["id"] == "Number"
    with pytest.raises(ConfigError, match="the column of `id` cannot be an input of the model: .*received age"):
        table_data({"label": "kind", "id": "age"})


def test_a_table_may_read_a_column_that_is_called_id():
    assert data(source=CsvFile(path="none.csv", fields={"label": "kind"}), preprocessing=Numbered()).source.fields == {
        "label": "kind",
        "id": "id",
    }


class Numbered(Preprocessor):
    fields = ("id",)
    reads_columns = True


def test_columns_of_a_table_are_read_by_their_own_names():
    assert table_data().source.fields == {"label": "kind", "sample": "Sample", "age": "age", "job": "job"}
    named = table_data({"label": "kind", "age": "Age in years"})
    assert named.source.fields == {"label": "kind", "age": "Age in years", "job": "job"}


def test_texts_are_required_and_numbers_are_optional():
    assert data().needed_roles("source") == ("text", "label")
    assert table_data().needed_roles("source") == ("label",)
    assert table_data(split=Split(group="sample")).needed_roles("source") == ("label", "sample")


@pytest.mark.parametrize("options", [{"group": "samples"}, {"hold_out": {"samples": ["1"]}}])
def test_the_split_reads_roles_of_the_source(options):
    with pytest.raises(ConfigError, match="no column is given for `samples`.*Did you mean `sample`"):
        table_data(split=Split(**options))


def test_a_table_does_not_read_the_label():
    message = "the column of `label` cannot be an input of the model: expected columns other than 'age'"
    with pytest.raises(ConfigError, match=message) as caught:
        table_data({"label": "age"})
    assert caught.value.key == "preprocessing"


@pytest.mark.parametrize(
    ("parts", "split", "remedy"),
    [
        ({"validation_source": True}, "validation", "Add rows of this class to `source`, or take them out of `valid"),
        (
            {"validation_source": True, "split": Split(hold_out={"text": ["x"]})},
            "test",
            "`split.hold_out` holds out all of",
        ),
        ({"split": Split(hold_out={"text": ["x"]}, stratify=False)}, "validation", "Set `split.stratify: true`"),
        ({"split": Split(group="text")}, "validation", "Add rows of this class to more groups; `split.group` keeps"),
        ({"split": Split(group="text", folds=3)}, "validation", "Add rows of this class to more groups"),
        ({"split": Split(stratify=False)}, "validation", "Set `split.stratify: true`"),
        ({"split": Split()}, "test", "Add training rows of this class."),
    ],
)
def test_the_remedy_for_a_new_class_depends_on_the_split(parts, split, remedy):
    if "validation_source" in parts:
        parts = parts | {"validation_source": CsvFile(path="v.csv", fields={"text": "a", "label": "b"})}
    assert remedy in data(**parts).remedy_of_new_class(split)


def test_folds_replace_a_validation_fraction_or_file():
    data(split=Split(validation=0, folds=3))
    with pytest.raises(ConfigError, match="given twice: expected either folds or a `validation_source`") as caught:
        data(split=Split(folds=3), validation_source=CsvFile(path="v.csv", fields={"text": "a", "label": "b"}))
    assert caught.value.key == "split.folds"


class Places(Examples):
    def require(self, preprocessor):
        preprocessor.locate("words")


class Locating(Tokenizer):
    def locate(self, what):
        self.located = what


def test_examples_request_locations_from_the_preprocessing():
    assert data(preprocessing=Locating(), examples=Places()).preprocessing.located == "words"
    with pytest.raises(
        ConfigError, match="the preprocessor does not locate words in texts: expected wordpiece"
    ) as error:
        data(examples=Places())
    assert error.value.key == "preprocessing"


def test_missing_values_apply_to_required_roles():
    section = data(missing={"label": ["-", "n/a"]})
    lacking = {"": True, "  ": True, "-": True, " n/a ": True, "none": False, "--": False}
    for value, is_missing in lacking.items():
        assert section.lacks(Row({"text": "-", "label": value}, "x:1"), "label") is is_missing
        assert not section.lacks(Row({"text": "-", "label": value}, "x:1"), "text")
    with pytest.raises(ConfigError, match="no row needs `labels`: expected one of text, label.*Did you mean") as caught:
        data(missing={"labels": ["-"]})
    assert caught.value.key == "missing"


def test_only_one_class_for_each_record_can_be_balanced():
    source = CsvFile(path="none.csv", fields={"text": "a", "tags": "b"})
    with pytest.raises(ConfigError, match="there are no classes to balance"):
        data(source=source, targets=Tags(), batching=Batching(batch_size=2, balanced=True))
