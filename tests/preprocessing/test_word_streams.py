"""Streams of word ids: whole texts, independent of passages, repeatable."""

import numpy as np
import pytest

from tfattn.preprocessing.word_streams import DROPPED, END_OF_TEXT, StreamFile, count_ids, encode_streams, split_stream

TEXTS = ["1 2 3 4 5 6 7 8 9", "", "-1 5", "6 -1 -1 7 " * 9, "-1", "8", ""]


def numbers(texts):
    return np.array([int(word) for words in texts for word in words], np.int32)


@pytest.fixture(params=[3, 20, 1000], ids=lambda most: f"{most} characters at once")
def divided(request, monkeypatch):
    """The streams of the texts, divided in passages of few characters or of many."""
    monkeypatch.setattr("tfattn.preprocessing.passages.MAX_CHARACTERS", request.param)
    monkeypatch.setattr("tfattn.preprocessing.passages._PASSAGE", request.param // 3)
    return list(encode_streams(iter(TEXTS), str.split, numbers))


def test_streams_have_whole_texts_without_dropped_words(divided):
    assert all(stream.dtype == np.int32 and stream[-1] == END_OF_TEXT for stream in divided)
    assert sum(np.count_nonzero(stream == DROPPED) for stream in divided) == 20
    expected = [[int(word) for word in text.split() if word != "-1"] for text in TEXTS]
    assert [ids.tolist() for stream in divided for ids in split_stream(stream)] == expected


def test_no_texts_give_no_stream():
    assert list(encode_streams([], str.split, numbers)) == []


def test_a_file_returns_renumbered_streams(divided):
    with StreamFile() as file:
        for stream in divided:
            file.append(stream)
        for _ in range(2):
            assert [stream.tolist() for stream in file] == [stream.tolist() for stream in divided]
        file.renumber(np.array([DROPPED] * 6 + [1, 0, DROPPED, DROPPED]))
        (found,) = {
            tuple(map(tuple, (ids.tolist() for stream in file for ids in split_stream(stream)))) for _ in range(2)
        }
    assert found == ((1, 0), (), (), (1, 0) * 9, (), (), ())


def test_ids_are_counted():
    assert count_ids(np.array([0, DROPPED, 2, END_OF_TEXT, 2], np.int32), 4).tolist() == [1, 0, 2, 0]
