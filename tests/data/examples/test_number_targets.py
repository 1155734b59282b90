"""Numbers as targets: parsing, statistics, and errors with location."""

import json

import numpy as np
import pytest

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.number_targets import Numbers
from tfattn.errors import DataError
from tfattn.formats.source import Row


def row(value, line=2):
    return Row({"target": value}, f"x.csv:{line}")


def fitted(*values):
    target = Numbers()
    target.fit(DictionaryEncoded.of([""] * len(values)), map(row, values))
    return target


def test_mean_and_deviation_are_those_of_the_training_rows():
    target = fitted("10", " 2e1 ", "+30")
    assert target.facts == pytest.approx({"mean": 20, "deviation": np.std([10, 20, 30]), "low": 10, "high": 30})
    again = Numbers()
    again.use(json.loads(json.dumps(target.facts)))
    assert again.facts == target.facts
    assert target.encode(row("-.5")) == {"target_values": -0.5}


@pytest.mark.parametrize("value", ["many", "inf", "1e400", "nan", "?", "0x10", "1,5"])
def test_a_value_that_is_not_a_number_is_located(value):
    with pytest.raises(DataError) as error:
        Numbers().check(row(value, line=7))
    assert str(error.value).startswith("x.csv:7: the target is no finite number: expected a number")
    assert f"received {value!r}" in str(error.value) and "`fields.target`" in error.value.remedy
    Numbers().check(row(" 7.25 "))


def test_a_number_out_of_range_names_the_range():
    with pytest.raises(DataError, match=r"expected a number from -3.4e38 to 3.4e38 \(float32\), or nothing"):
        Numbers().check(row("1e300"))


def test_a_constant_number_is_refused():
    with pytest.raises(DataError, match="nothing to predict: .*received 3 times 5. Check which column"):
        fitted("5", "5.0", "5")


def test_numbers_that_are_equal_in_float32_are_refused():
    with pytest.raises(DataError, match="the targets are equal in float32: .* at least 128.*Subtract a constant"):
        fitted("1700000000", "1700000060", "1700000120")
    assert fitted("1700000000", "1700030000").facts["deviation"] == pytest.approx(15000, abs=64)
    assert fitted("1e-35", "2e-35").facts["deviation"] == pytest.approx(5e-36)


def test_rows_are_not_stratified_by_number():
    assert Numbers().stratum(row("1")) == Numbers().stratum(row("2")) == "" and not Numbers().is_stratified
    assert list(Numbers().classes(row("1"))) == []
