"""What is drawn for a record follows from the seed, the epoch and the record alone."""

import pytest

from tfattn.data.batching import Batching
from tfattn.data.reader import Reader
from tfattn.data.splitmix64 import uniform
from tfattn.data.transforms import Transform


class Noise(Transform):
    """Writes three random numbers of each row."""

    targets = ("noise",)

    def __call__(self, batch, seeds):
        return {**batch, "noise": uniform(seeds, 3)}


def noise_of(reader, epoch, **options):
    """By the number of the record."""
    found = {}
    for batch in reader.dataset(epoch, **options):
        found |= {
            int(row): numbers.tobytes()
            for row, numbers in zip(batch["record_ids"].numpy(), batch["noise"].numpy(), strict=True)
            if row >= 0
        }
    return found


@pytest.fixture
def open_reader(make_folder):
    folder = make_folder()

    def open_reader(seed=3, **batching):
        batching = Batching(**(batching or {"max_tokens": 60, "window": 25}))
        return Reader(folder, "train", batching=batching, seed=seed, shuffle=True, transforms=[Noise()])

    return open_reader


def test_neither_batches_nor_replicas_nor_the_beginning_change_what_is_drawn(open_reader):
    expected = noise_of(open_reader(), 1)
    assert len(expected) == len(set(expected.values())) == 53
    assert noise_of(open_reader(), 1, replicas=4, accumulation=2) == expected
    assert noise_of(open_reader(batch_size=5), 1) == expected
    rest = noise_of(open_reader(), 1, start=3)
    assert 0 < len(rest) < 53 and rest.items() <= expected.items()


def test_epochs_and_seeds_draw_different_numbers(open_reader):
    drawn = [noise_of(open_reader(), 0), noise_of(open_reader(), 1), noise_of(open_reader(seed=4), 0)]
    assert len({numbers for noise in drawn for numbers in noise.values()}) == 3 * 53


def test_what_a_transform_writes_is_a_target(open_reader):
    assert open_reader().targets == ("label_ids", "noise")
