"""The cluster of training processes and its chief, from the environment variable TF_CONFIG."""

import json
import os
from dataclasses import dataclass
from typing import Any

from tfattn.errors import ConfigError

VARIABLE = "TF_CONFIG"
EXAMPLE = '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}}'


@dataclass(frozen=True)
class Cluster:
    """A cluster of training processes.

    Attributes:
        num_workers: the number of processes in TF_CONFIG; 0 if it is not set.
        index: the index of this process, from 0, the chief first.
    """

    num_workers: int = 0
    index: int = 0

    @property
    def is_chief(self) -> bool:
        """Whether this process writes files."""
        return self.index == 0


def cluster() -> Cluster:
    """Read the cluster from TF_CONFIG: processes of `chief` first, then of `worker`.

    Raises:
        ConfigError: TF_CONFIG does not define this process and its cluster.
    """
    setting = os.environ.get(VARIABLE) or "{}"
    try:
        read = json.loads(setting)
        named, task = read.get("cluster", {}), read.get("task", {})
        kinds = [kind for kind in ("chief", "worker") if named.get(kind)]
        if not kinds:
            return Cluster()
        before = [len(named[kind]) for kind in kinds[: kinds.index(task["type"])]]
        found = Cluster(sum(len(named[kind]) for kind in kinds), sum(before) + int(task["index"]))
    except (ValueError, KeyError, AttributeError, TypeError):
        raise _unreadable(setting) from None
    if not 0 <= found.index < found.num_workers:
        raise _unreadable(setting)
    return found


def _unreadable(setting: Any) -> ConfigError:
    return ConfigError(
        "TF_CONFIG does not define this process",
        where=f"the environment variable {VARIABLE}",
        expected=f"JSON such as {EXAMPLE}",
        received=setting,
        remedy="`tfattn train --workers N` sets it for N processes on this machine.",
    )
