"""Resolving a pipeline: merging of files, overrides and defaults; all errors are reported together."""

import pytest

from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.config.show import json_schema, to_yaml
from tfattn.errors import ConfigError, ConfigProblems

GOOD = """\
    name: beetle
    engine: {name: engine, power: 30}
"""


def test_defaults_are_filled_in_and_marked_as_defaults(car):
    config = resolve(car(GOOD))
    assert config.values == {
        "name": "beetle",
        "engine": {"name": "engine", "power": 30, "fuel": "diesel", "cooling": 0.1},
        "wheels": {"count": 4, "axles": 2, "sizes": None, "spikes": False, "makers": []},
        "spare": None,
        "note": None,
    }
    assert config.origins["engine", "power"].endswith("car.yaml:2:24")
    assert config.origins["engine", "fuel"] == "default"


def test_later_sources_override_earlier_ones_by_key(car):
    car("name: engine\npower: 50\nfuel: petrol\n", "strong.yaml")
    path = car("name: beetle\nengine: {from: strong.yaml, cooling: 0.3}\n")
    config = resolve(path, ["engine.power=70", "wheels.sizes.front=15"])
    assert config.values["engine"] == {"name": "engine", "power": 70, "fuel": "petrol", "cooling": 0.3}
    assert config.values["wheels"]["sizes"] == {"front": 15}
    assert config.origins["engine", "power"] == "--set engine.power"
    assert config.origins["engine", "fuel"] == "strong.yaml:3:1"
    assert config.origins["engine", "cooling"].endswith("car.yaml:2:29")


def test_another_name_replaces_the_section_of_the_part(car):
    car("engine: {name: engine, power: 50}\n", "all.yaml")
    car("name: engine\npower: 50\n", "strong.yaml")
    config = resolve(car("name: b\nengine: {from: strong.yaml, name: engine}\nspare: {name: motor}\n"))
    assert config.values["engine"]["power"] == 50
    assert config.values["spare"] == {"name": "motor", "volts": 400.0}


def test_an_override_replaces_a_section_by_a_part(car):
    car("name: engine\npower: 50\nfuel: petrol\n", "strong.yaml")
    path = car("name: beetle\nengine: {name: engine, power: 30, cooling: 0.3}\n")
    config = resolve(path, ["engine={from: strong.yaml, power: 60}", "engine.fuel=diesel"])
    assert config.values["engine"] == {"name": "engine", "power": 60, "fuel": "diesel", "cooling": 0.1}
    assert config.origins["engine", "power"] == "--set engine"
    with pytest.raises(ConfigError, match=r"--set engine: no such part: received gone.yaml"):
        resolve(path, ["engine={from: gone.yaml}"])


def test_a_part_cannot_start_from_another(car):
    car("from: other.yaml\n", "chain.yaml")
    with pytest.raises(ConfigError, match="cannot start from another part"):
        resolve(car("name: b\nengine: {from: chain.yaml}\n"))


def test_a_missing_part_has_the_location_of_from(car):
    with pytest.raises(ConfigError, match=r"car.yaml:2:10: no such part: received gone.yaml"):
        resolve(car("name: b\nengine: {from: gone.yaml}\n"))


def test_an_unreadable_part_is_reported_with_all_other_errors(car):
    car("[1]\n", "list.yaml")
    car("a: [1\n", "broken.yaml")
    path = car(
        """\
        name: 3
        engine: {from: gone.yaml, powr: 3}
        wheels: {from: list.yaml}
        spare: {from: broken.yaml}
        colour: red
        """
    )
    with pytest.raises(ConfigProblems) as caught:
        resolve(path, ["name.y=4"])
    problems = [str(problem) for problem in caught.value.problems]
    assert len(problems) == 6, problems  # and no error about keys of the parts
    assert "car.yaml:2:10: no such part: received gone.yaml" in problems[0]
    assert "list.yaml: not keys and values: expected the keys of one section, received a list" in problems[1]
    assert "broken.yaml:2:1: not valid YAML" in problems[2]
    assert "--set name.y: `name` is not a section" in problems[3]
    assert "colour: unknown key" in problems[4]
    assert "name: wrong value" in problems[5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty: expected a mapping with name"),
        ("# nothing\n", "the file is empty"),
        ("- name: beetle\n", "not keys and values: expected a mapping with name, data, model, task, received a list"),
        ("beetle\n", "not keys and values: .* received 'beetle'"),
        ("from: other.yaml\nname: b\nengine: {name: motor}\n", "car.yaml:1:1: `from:` names the file that a section"),
        ("name: b\nengine: {name: [motor]}\n", "engine.name: unknown name in motors"),
    ],
)
def test_a_file_that_is_not_a_pipeline_is_refused(car, text, message):
    with pytest.raises(ConfigError, match=message):
        resolve(car(text))


def test_all_errors_are_reported_with_their_location(car):
    path = car(
        """\
        name: 3
        engine: {name: engine, powr: 30, fuel: coal, cooling: "0.2"}
        wheels: {count: 2.5, sizes: {front: wide}}
        spare: {name: enginn}
        colour: red
        """
    )
    with pytest.raises(ConfigProblems) as caught:
        resolve(path)
    problems = {problem.key: str(problem) for problem in caught.value.problems}
    assert problems.keys() == {
        "name", "engine.powr", "engine.power", "engine.fuel", "engine.cooling", "wheels.count", "wheels.sizes.front",
        "spare.name", "colour",
    }  # fmt: skip
    assert "car.yaml:1:1: name: wrong value: expected a string, received 3 (an integer)" in problems["name"]
    assert "car.yaml:2:24" in problems["engine.powr"] and "Did you mean `power`?" in problems["engine.powr"]
    assert "missing key: expected an integer > 0 (in kilowatts)" in problems["engine.power"]
    assert "one of 'diesel', 'petrol', received 'coal'" in problems["engine.fuel"]
    assert "Write the number without quotes." in problems["engine.cooling"]
    assert "received 2.5 (a number)" in problems["wheels.count"]
    assert "Did you mean `engine`?" in problems["spare.name"]
    assert "The keys are: name, engine" in problems["colour"]


def test_wrong_values_of_a_list_are_one_error(car):
    with pytest.raises(ConfigProblems) as caught:
        resolve(car(GOOD), ["wheels.makers=[1, 2, a, 3]"])
    [problem] = map(str, caught.value.problems)
    assert problem.endswith("received 1 (an integer), and 2 more wrong values. Write it in quotes.")


def test_an_unknown_key_lists_the_available_keys(car):
    with pytest.raises(ConfigProblems, match=r"engine.xyz: unknown key. The keys are: power, fuel, cooling\."):
        resolve(car(GOOD), ["engine.xyz=1"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("engine.power", "expected key.path=value"),
        ("engine.power=x", "--set engine.power: engine.power: wrong value"),
        ("name.x=1", "`name` is not a section"),
        ("engine.powr=1", "Did you mean `power`?"),
        ("engine.power=true", "received true"),
        ("engine.power=", "--set engine.power: engine.power: wrong value: expected an integer > 0, received null"),
        ("note=7", "received 7 (an integer). Write it in quotes."),
        ("wheels.sizes.front=wide", "--set wheels.sizes.front: wheels.sizes.front: wrong value"),
    ],
)
def test_a_wrong_override_is_refused(car, override, message):
    with pytest.raises(ConfigError) as caught:
        resolve(car(GOOD), [override])
    assert message in str(caught.value)


def test_overrides_are_yaml_1_2(car):
    config = resolve(car(GOOD), ["engine.cooling=1e-4", "note=no"])
    assert config.values["engine"]["cooling"] == 1e-4
    assert config.values["note"] == "no"


def test_yaml_output_resolves_to_the_same_values(car):
    config = resolve(car(GOOD), ['note="1e-4"', "wheels.sizes={front: 15}"])
    shown = to_yaml(config)
    assert resolve(car(shown, "shown.yaml")).values == config.values
    assert "# default" in shown and "car.yaml:2:24" in shown and "# --set note" in shown


def test_build_builds_nested_sections(car):
    config = resolve(car("name: b\nengine: {name: motor}\nwheels: {count: 3, axles: 3}\n"))
    built = build(config)
    assert (built.engine.volts, built.wheels.count, built.spare) == (400.0, 3, None)


def test_errors_of_constructors_have_a_location(car):
    config = resolve(car(GOOD), ["engine.power=1000"])
    with pytest.raises(ConfigError, match=r"--set engine.power: engine.power: too strong: expected 900 at most"):
        build(config, "engine", serial=1)


def test_given_values_must_agree_with_the_file(car):
    assert build(resolve(car(GOOD)), "engine", serial=7).serial == 7
    assert build(resolve(car(GOOD), ["engine.serial=7"]), "engine", serial=7).serial == 7
    with pytest.raises(ConfigError, match="does not match the data: expected 7, received 8"):
        build(resolve(car(GOOD), ["engine.serial=8"]), "engine", serial=7)


def test_relations_of_given_values_are_checked(car):
    with pytest.raises(ConfigError, match="car.yaml:2:1: engine.serial: above `power`: expected at most power=30"):
        build(resolve(car(GOOD)), "engine", serial=31)


def test_violations_are_reported_with_all_other_errors(car):
    path = car("name: b\nengine: {name: engine, power: 3}\nwheels: {count: 9, axles: 2, spikes: true, colour: red}\n")
    with pytest.raises(ConfigProblems) as caught:
        resolve(path)
    problems = {problem.key: str(problem) for problem in caught.value.problems}
    wrong = {
        "wheels.colour": "3:44: wheels.colour: unknown key. The keys are: count, axles, sizes, spikes, makers.",
        "wheels.axles": "3:20: wheels.axles: does not divide `count`: expected a divisor of count=9, received 2",
        "wheels.spikes": "3:30: wheels.spikes: needs another `sizes`: expected sizes other than null, "
        "received sizes null",
        "wheels.count": "3:10: wheels.count: above `engine.power`: expected at most engine.power=3, received 9. "
        "Wheels want power.",
    }
    assert problems == {key: f"{path}:{message}" for key, message in wrong.items()}


@pytest.mark.parametrize("override", ["wheels.count=x", "wheels.axles=x", "engine={name: motor}", "engine=3"])
def test_relations_of_invalid_values_are_not_checked(car, override):
    path = car("name: b\nengine: {name: engine, power: 9}\nwheels: {count: 9, axles: 9}\n")
    try:
        resolve(path, [override])
    except ConfigProblems as caught:
        assert len(caught.problems) == 1


def test_the_json_schema_has_every_key(car):
    schema = json_schema()
    engine, motor = schema["properties"]["engine"]["anyOf"]
    assert engine["properties"]["fuel"] == {
        "enum": ["diesel", "petrol"], "type": "string", "description": "what it burns.", "default": "diesel",
    }  # fmt: skip
    assert engine["properties"]["name"] == {"const": "engine"}
    assert motor["additionalProperties"] is False
    assert "from" in engine["properties"]
    assert schema["required"] == ["name"]
