"""The attention of each layer: angles, windows and scales, and refusals."""

import pytest

from tfattn.errors import ConfigError
from tfattn.models.decoder_layers import layer_attention
from tfattn.ops.rotary_rates import wave_rates

PLAIN = {
    "num_layers": 4,
    "head_dim": 8,
    "is_rotary": True,
    "rotary_base": 100.0,
    "rotary_fraction": 1.0,
    "rotary_scaling": None,
    "unrotated_layers": (),
    "window": None,
    "global_layers": (),
    "local_rotary_base": None,
    "query_scale": None,
}
YARN = {
    "name": "yarn",
    "factor": 2.0,
    "original_length": 16,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "attention_factor": 1.5,
    "truncate": True,
}


def layers(**options):
    return layer_attention(**{**PLAIN, **options})


def test_plain_layers_have_the_options_of_earlier_versions():
    assert layers() == [(False, {"rotary_base": 100.0, "rotary_rates": None, "scale": None})] * 4
    assert {layer.options["rotary_base"] for layer in layers(is_rotary=False)} == {None}


def test_windows_and_unrotated_layers():
    found = layers(window=5, global_layers=(1, 3), unrotated_layers=(2,))
    assert [layer.has_window for layer in found] == [True, False, True, False]
    assert [layer.options["rotary_base"] for layer in found] == [100.0, 100.0, None, 100.0]


def test_layers_with_a_window_may_have_their_own_base():
    scaling = {"name": "linear", "factor": 2.0}
    local, whole = layers(num_layers=2, window=5, global_layers=(1,), local_rotary_base=10.0, rotary_scaling=scaling)
    assert local.options["rotary_base"] == 10.0 and local.options["rotary_rates"] is None
    assert whole.options["rotary_rates"] == [rate / 2 for rate in wave_rates(8, 100.0)]


def test_a_fraction_of_a_head_is_rotated():
    assert layers(rotary_fraction=0.5)[0].options["rotary_rates"] == wave_rates(4, 100.0)


def test_yarn_scales_queries_and_keys_of_rotated_layers():
    rotated, unrotated = layers(num_layers=2, rotary_scaling=YARN, unrotated_layers=(1,), query_scale=0.5)
    assert rotated.options["scale"] == pytest.approx(0.5 * 1.5**2) and unrotated.options["scale"] == 0.5
    assert layers(rotary_scaling=YARN)[0].options["scale"] == pytest.approx(8**-0.5 * 1.5**2)


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ({"window": 3, "global_layers": (4,)}, "global_layers", "no such layer: expected indices from 0 to 3"),
        ({"unrotated_layers": (0, 9)}, "unrotated_layers", "no such layer.*received 9"),
        ({"rotary_fraction": 0.4}, "rotary_fraction", "pairs.*an even number of the 8 components.*0.4, which is 3"),
        (
            {"rotary_scaling": {"name": "factors", "factors": [1.0]}},
            "rotary_scaling.factors",
            "do not fit the heads: expected 4 factors",
        ),
        (
            {"rotary_scaling": YARN, "rotary_fraction": 0.5},
            "rotary_scaling.attention_factor",
            "all components.*expected 1.0, or a rotary_fraction of 1.0, received 1.5",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options, key, message):
    with pytest.raises(ConfigError, match=message) as caught:
        layers(**options)
    assert caught.value.key == key
