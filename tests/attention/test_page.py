"""The attention page: a single self-contained file, for any tokens."""

import re

import pytest

from tfattn.attention import page
from tfattn.errors import ConfigError


def test_a_page_is_self_contained(make_views):
    text = make_views(12).html()
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|\bfetch\(|\burl\(|^import ", text, re.MULTILINE)
    assert "default-src 'none'" in text and "data:" not in text
    assert "Attention alone is not an explanation" in text


def test_tokens_are_escaped_in_the_data(make_views):
    text = make_views(5).html()
    assert "Leak </script>" not in text  # the label that is scored
    assert text.count("</script>") == 2


def test_all_scripts_are_in_the_page(make_views):
    text = make_views(5).html()
    for name in page.SCRIPTS:
        first = next(line for line in page.source(f"{name}.js").splitlines() if line.startswith("//"))
        assert first in text


def test_a_notebook_shows_the_page_in_a_frame(make_views):
    shown = make_views(5)._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in shown
    assert "<" not in re.search(r'srcdoc="([^"]*)"', shown).group(1)


def test_a_too_large_page_is_refused(make_views, monkeypatch):
    monkeypatch.setattr(page, "MAX_BYTES", 40_000)
    with pytest.raises(ConfigError) as refused:
        make_views(40, layers=4).html()
    assert "the page is too large" in str(refused.value) and "4 layers and 3 heads" in str(refused.value)
    assert "Use a shorter text" in str(refused.value)
