"""Validation of the options of Apache Beam."""

import contextlib
import io
import logging
from collections.abc import Iterator
from typing import Any

from apache_beam.options.pipeline_options import (
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    StandardOptions,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import PipelineRunner, create_runner

from tfattn.errors import ConfigError, nearest

KEY = "data.engine.options"
# Runs locally. The default of Beam, DirectRunner, downloads another program first.
DEFAULT_RUNNER = "FnApiRunner"
RUNNERS = tuple(StandardOptions.KNOWN_RUNNER_NAMES)
# Runners whose job servers have further options.
PORTABLE_RUNNERS = ("FlinkRunner", "PortableRunner", "SparkRunner")


def checked(options: dict[str, Any]) -> tuple[PipelineOptions, PipelineRunner]:
    """Create the pipeline options and the runner of Beam.

    Returns:
        the pipeline options, and the runner.

    Raises:
        ConfigError: the runner is unknown, or an option is unknown, invalid or refused.
    """
    name = options.get("runner", DEFAULT_RUNNER)
    if name not in RUNNERS:
        raise ConfigError(
            "unknown runner of Apache Beam",
            where=f"{KEY}.runner",
            expected=f"one of {', '.join(RUNNERS)}",
            received=repr(name),
            remedy=nearest(name, RUNNERS),
        )
    with _option_errors():
        found = PipelineOptions.from_dictionary({**options, "runner": name})
        known, given = (found.get_all_options(retain_unknown_options=retain) for retain in (False, True))
    _check_known(options, known, given, name)
    _check_refused(found)
    try:
        runner = create_runner(name)
    except ImportError as error:
        raise ConfigError(
            f"the runner {name} is not installed",
            where=f"{KEY}.runner",
            received=str(error),
            remedy="Install the extra of apache-beam that it names.",
        ) from None
    if problems := PipelineOptionsValidator(found, runner).validate():
        raise ConfigError(f"options of {name} are missing or wrong", where=KEY, received="; ".join(problems))
    return found, runner


def _check_known(options: dict[str, Any], known: dict[str, Any], given: dict[str, Any], runner: str) -> None:
    unknown = [name for name in given if name not in known]
    if unknown and runner not in PORTABLE_RUNNERS:
        raise ConfigError(
            "Apache Beam has no such option",
            where=f"{KEY}.{unknown[0]}",
            received=repr(options.get(unknown[0])),
            remedy=nearest(unknown[0], known),
        )


def _check_refused(found: PipelineOptions) -> None:
    """Refuse options that start or install code, which a pipeline file must not."""
    refused = {}
    for group in (SetupOptions, JobServerOptions):
        refused |= found.view_as(group).get_all_options(drop_default=True, current_only=True)
    everything = found.get_all_options(drop_default=True, retain_unknown_options=True)
    refused |= {name: value for name, value in everything.items() if name.endswith("_jar")}
    if found.view_as(PortableOptions).environment_type == "PROCESS":
        refused["environment_type"] = "PROCESS"
    if refused:
        name, value = next(iter(refused.items()))
        raise ConfigError(
            "this option of Apache Beam starts or installs code, which a pipeline file must not",
            where=f"{KEY}.{name}",
            received=repr(value),
            remedy="Give workers an image that holds this package (`sdk_container_image`, or `environment_type: DOCKER`"
            " or EXTERNAL), and start a job server beforehand (`job_endpoint`).",
        )


@contextlib.contextmanager
def _option_errors() -> Iterator[None]:
    """Convert Beam's exit on an invalid option to an error; Beam parses options as a command line."""
    output = io.StringIO()
    logger = logging.getLogger(PipelineOptions.__module__)
    logger.disabled = True
    try:
        with contextlib.redirect_stderr(output):
            yield
    except SystemExit:
        message = output.getvalue().strip().splitlines()[-1].partition("error: ")[2]
        raise ConfigError("Apache Beam refuses an option", where=KEY, received=message) from None
    finally:
        logger.disabled = False
