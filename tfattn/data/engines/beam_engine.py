"""The Apache Beam engine of preparation; Beam is imported on use."""

import importlib.util
from typing import Any

from tfattn.data.engines.engine import Elsewhere, Engine, Step
from tfattn.errors import ConfigError

Option = str | bool | int | float | list[str]


class Beam(Engine):
    """Apache Beam with Dataflow, Flink, Spark or another runner, or on this machine.

    All workers need this package, and access to the data files and the `work_folder` by the same names: remote
    addresses such as gs://bucket/rows.csv, or absolute paths on a shared disk. Only this process writes the prepared
    data.

    Args:
        options: pipeline options of Beam by name, such as `runner: FlinkRunner` and `flink_master: host:8081`. The
            default runner is FnApiRunner, which needs no cluster; `direct_running_mode: multi_processing` and
            `direct_num_workers: 8` use local processes. Options that install or start code are refused.

    Raises, when data are prepared:
        ConfigError: Beam is not installed, the runner is unknown, or an option is unknown, invalid or refused.

    Example:
        engine: {name: beam, options: {runner: FlinkRunner, flink_master: "host:8081", parallelism: 64}}
        work_folder: gs://bucket/work
    """

    def __init__(self, *, options: dict[str, Option] | None = None):
        self.options = options or {}

    def check(self) -> None:
        if importlib.util.find_spec("apache_beam") is None:
            raise ConfigError(
                "Apache Beam is not installed",
                where="data.engine",
                expected="the package apache-beam, for `name: beam`",
                received="no such package",
                remedy="`pip install 'tfattn[beam]'`, or set `name: local`.",
            )
        from tfattn.data.engines.beam_options import checked  # loads Beam

        checked(self.options)

    def do(self, step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, *, total: int) -> None:
        from tfattn.data.engines.beam_pipeline import run  # loads Beam

        run(step, units, work, elsewhere, self.options)
