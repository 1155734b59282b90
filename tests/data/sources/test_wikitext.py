"""MediaWiki markup: only rendered text is kept."""

import pytest

from tfattn.data.sources.wikitext import paragraphs_of


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("'''Riga''' ({{lang|lv|Rīga}}) is a ''city''.", ["Riga is a city."]),
        ("Huxley ({{IPAc-en|h}}; 26 July 1894) wrote.", ["Huxley (26 July 1894) wrote."]),
        ("See [[Latvia|the country]] and [[Tallinn]].", ["See the country and Tallinn."]),
        ("[[File:A.jpg|thumb|A [[picture]].]]It ends. [[de:Riga]][[Category:Cities.]]", ["It ends."]),
        ("By [http://a.b his site] and http://c.d too.", ["By his site and too."]),
        ("== History. ==\nOld.<ref name=a>Book, p. 3.</ref> Yes.<!-- no. --><ref name=b/>", ["Old. Yes."]),
        ("{| class=x\n! Head.\n|-\n| Cell.\n{| inner.\n|}\n|}\nAfter.", ["After."]),
        ("Before. {{Box|a=\n{|\n| Cell.\n|}}} After.", ["Before. After."]),
        ("One.<br/>Two.\n\nThree.\n* J. Smith\n* A whole entry.", ["One.", "Two.", "Three.", "A whole entry."]),
        ("x<sub>2</sub> &amp; y&nbsp;&eacute;. <math>a. b</math> <nowiki>[[a.]]</nowiki>", ["x2 & y é."]),
        ("__NOTOC__ Unclosed ''quote. <div> {{open [[also.", ["Unclosed quote. <div> {{open [[also."]),
        ("只有一个句子。", ["只有一个句子。"]),
        ("", []),
    ],
)
def test_plain_text_is_the_rendered_text(markup, expected):
    assert paragraphs_of(markup) == expected
