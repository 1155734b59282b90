"""Random transforms of records depend only on seed, epoch and record."""

import pytest

from tfattn.data.batching import Batching
from tfattn.data.examples.transforms import Transform
from tfattn.data.reader import Reader
from tfattn.data.splitmix64 import uniform


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


def test_transforms_do_not_depend_on_batches_replicas_or_the_start(open_reader):
    expected = noise_of(open_reader(), 1)
    assert len(expected) == len(set(expected.values())) == 53
    assert noise_of(open_reader(), 1, replicas=4, accumulation=2) == expected
    assert noise_of(open_reader(batch_size=5), 1) == expected
    rest = noise_of(open_reader(), 1, start=3)
    assert 0 < len(rest) < 53 and rest.items() <= expected.items()


def test_epochs_and_seeds_sample_different_numbers(open_reader):
    drawn = [noise_of(open_reader(), 0), noise_of(open_reader(), 1), noise_of(open_reader(seed=4), 0)]
    assert len({numbers for noise in drawn for numbers in noise.values()}) == 3 * 53


def test_the_outputs_of_a_transform_are_targets(open_reader):
    assert open_reader().targets == ("label_ids", "noise")


class Counted(Transform):
    """Counts how often its graph is traced."""

    traces = 0

    def __call__(self, batch, seeds):
        self.traces += 1
        return dict(batch)


def test_epochs_and_resumes_use_the_same_graph(make_folder):
    counted = Counted()
    batching = Batching(batch_size=5)
    reader = Reader(make_folder(), "train", batching=batching, seed=3, shuffle=True, transforms=[counted])
    for epoch, start in [(0, 0), (1, 0), (2, 4)]:
        assert len(list(reader.dataset(epoch, start=start))) == reader.num_batches(epoch) - start
    assert counted.traces == 1
