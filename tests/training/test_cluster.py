"""The cluster of TF_CONFIG: the index of the process, and the chief."""

import json

import pytest

from tfattn.errors import ConfigError
from tfattn.training.cluster import Cluster, cluster
from tfattn.training.runtime import Runtime

WORKERS = {"worker": ["a:1", "b:1"]}
BESIDE_A_CHIEF = {"chief": ["c:1"], "worker": ["a:1", "b:1"]}


@pytest.fixture
def of(monkeypatch):
    """Return a function that reads the cluster from a value of TF_CONFIG."""

    def of(named, kind="worker", index=0):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": named, "task": {"type": kind, "index": index}}))
        return cluster()

    return of


def test_without_a_cluster_every_process_is_its_own_chief(monkeypatch):
    for value in ("", "{}", '{"cluster": {}}'):
        monkeypatch.setenv("TF_CONFIG", value)
        assert cluster() == Cluster(0, 0) and cluster().is_chief
    monkeypatch.delenv("TF_CONFIG")
    assert cluster() == Cluster(0, 0) and Runtime().is_chief


@pytest.mark.parametrize("named", [WORKERS, BESIDE_A_CHIEF], ids=["workers", "beside a chief"])
def test_processes_have_unique_indices_and_the_first_is_the_chief(of, named):
    tasks = [(kind, index) for kind, addresses in named.items() for index in range(len(addresses))]
    found = [of(named, *task) for task in tasks]
    assert [one.index for one in found] == list(range(len(tasks)))
    assert {one.num_workers for one in found} == {len(tasks)}
    assert [one.is_chief for one in found] == [True] + [False] * (len(tasks) - 1)


def test_the_runtime_has_the_same_chief(of):
    of(WORKERS, "worker", 1)
    assert not Runtime().is_chief


@pytest.mark.parametrize(
    "value",
    [
        "worker 0",
        "[]",
        '{"cluster": {"worker": ["a:1"]}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}',
        '{"cluster": {"worker": 1}, "task": {"type": "worker", "index": 0}}',
    ],
)
def test_an_invalid_tf_config_is_refused(monkeypatch, value):
    monkeypatch.setenv("TF_CONFIG", value)
    with pytest.raises(
        ConfigError, match="the environment variable TF_CONFIG: TF_CONFIG does not define this process"
    ) as caught:
        cluster()
    assert caught.value.received == value
