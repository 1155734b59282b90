"""Pictures of a layer and a head."""

import numpy as np
import pytest

from tfattn.attention.views import picture
from tfattn.drawing.figures import svg
from tfattn.errors import ConfigError


def cells(figure):
    return figure.axes[0].collections[0].get_array().reshape(6, 6)


def test_a_layer_and_a_head(make_views):
    views = make_views(6)
    weights = views.parts[0].weights
    figure = picture(views, layer=2, head=3)
    np.testing.assert_allclose(cells(figure), weights[1, 2])
    assert "layer 2, head 3" in svg(figure)
    np.testing.assert_allclose(cells(picture(views, layer=1)), weights[0].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(cells(picture(views, head=1)), weights[:, 0].mean(axis=0), rtol=1e-6)


def test_the_default_is_the_rollout(make_views):
    views = make_views(6)
    np.testing.assert_allclose(cells(picture(views)), views.part("encoder rollout").weights[-1, 0])


@pytest.mark.parametrize(("options", "said"), [({"layer": 3}, "no such layer"), ({"head": 4}, "no such head")])
def test_a_missing_layer_or_head_is_refused(make_views, options, said):
    with pytest.raises(ConfigError, match=said):
        picture(make_views(6), **options)


def test_too_many_tokens_are_refused(make_views):
    with pytest.raises(ConfigError, match="too many tokens for a picture"):
        picture(make_views(70))
