"""Reading YAML: types of YAML 1.2 with locations; tags that build objects and huge files are refused."""

import pytest

from tfattn.config.read import parse_yaml, read_yaml
from tfattn.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1", 1),
        ("-0x1F", "-0x1F"),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 17),
        ("1_000", "1_000"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("'1'", "1"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    result = parse_yaml(f"key: {text}", "f").values["key"]
    assert result == value
    assert type(result) is type(value)


def test_locations_are_file_line_and_column():
    tree = parse_yaml("a:\n  b: 1\n  c: [2, 3]\n", "x.yaml")
    assert tree.location(("a", "b")) == "x.yaml:2:3"
    assert tree.location(("a", "c", 1)) == "x.yaml:3:10"
    assert tree.location(("a", "missing")) == "x.yaml:1:1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", r"f:3:1: duplicate key `a`, first at f:1:1"),
        ("a: [1", r"f:1:6: not valid YAML"),
        ("a:\n\t- b", r"f:2:1: not valid YAML"),
        ("a: !!python/object/apply:os.system ['true']", "tag is not allowed"),
        ("a: !!binary aGk=", "tag is not allowed"),
        ("[" * 100_000, "nested too deeply"),
        ("x" * 1_000_001, "too large"),
        (
            "a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
            + "".join(
                f"{chr(ord('c') + i)}: &{chr(ord('c') + i)} [{','.join(['*' + chr(ord('b') + i)] * 8)}]\n"
                for i in range(8)
            ),
            "too many values",
        ),
        ("? [1, 2]\n: 3", "a key must be a plain word"),
        ("a: &x {b: *x}", "nested too deeply by aliases"),
        ("a: " + "9" * 5000, "f:1:1: not a valid int"),
        ("a: 0x" + "f" * 6000, "f:1:1: not a valid int: received '0xfff"),
        ("a: 0o" + "7" * 6000, "f:1:1: not a valid int"),
    ],
)
def test_errors_have_a_location(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_yaml(text, "f")


def test_a_missing_file_suggests_a_similar_file(tmp_path):
    (tmp_path / "pipeline.yaml").write_text("a: 1")
    with pytest.raises(ConfigError, match=r"cannot read the file.*Did you mean `.*pipeline\.yaml`"):
        read_yaml(tmp_path / "pipelin.yaml")


def test_bytes_that_are_not_utf8(tmp_path):
    (tmp_path / "p.yaml").write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 3"):
        read_yaml(tmp_path / "p.yaml")
