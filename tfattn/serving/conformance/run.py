"""The run of all checks against a server, and their results."""

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tfattn.errors import ServingError
from tfattn.serving.conformance import (
    classify_regress,
    disk,
    fixtures,
    parsing,
    parsing_values,
    reload,
    responses,
    rpc,
    rpc_load,
    rpc_services,
    start,
    status_metadata,
    urls,
)
from tfattn.serving.conformance.check import DEVIATIONS, Check, Mismatch, Skipped, checks_of
from tfattn.serving.conformance.server import Server

MODULES = (
    urls,
    parsing,
    parsing_values,
    responses,
    classify_regress,
    status_metadata,
    rpc,
    rpc_load,
    rpc_services,
    reload,
    disk,
)
CHECKS = sorted((check for module in MODULES for check in checks_of(module)), key=lambda check: check.row)
Outcome = Literal["ok", "deviation", "failed", "skipped"]


@dataclass(frozen=True)
class Result:
    """The result of a check.

    Attributes:
        check: the check.
        outcome: as TF Serving; otherwise, but allowed; otherwise; or not to be seen on this server.
        detail: which deviation; expected and received; or what it would take.
    """

    check: Check
    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        detail = f"\n{'':16}{self.detail}" if self.detail else ""
        return f"{self.check.row:>3}  {self.outcome:<9}  {self.check.what}{detail}"


def conformance(
    *,
    rest: str | None = None,
    grpc: str | None = None,
    models: Path | None = None,
    engine: str = "builtin",
    overrides: Sequence[str] = (),
) -> Iterator[Result]:
    """Check a server against the whole list; where no address is given, one that is started for it.

    Args:
        rest: its address for REST, such as http://127.0.0.1:8501.
        grpc: its address for gRPC, such as 127.0.0.1:8500.
        models: the folder of the fixture models that it serves, as `fixtures.write_models` wrote it. Versions in it
            are added, hidden and removed; in the end it is as it was.
        engine: the one to start: builtin or tensorflow_model_server.
        overrides: settings of the one to start, as `tfattn serve --set` takes them.

    Raises:
        ServingError: the server does not start, or cannot be reached, or does not serve the fixture models.
    """
    with contextlib.ExitStack() as stack:
        if rest is None and grpc is None:
            models = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tfattn_models_")))
            fixtures.write_models(models)
            rest, grpc = stack.enter_context(start.started(models, engine, overrides))
        server = stack.enter_context(contextlib.closing(Server(rest=rest, grpc=grpc, models=models)))
        _serves_fixtures(server, has_rest=rest is not None)
        for check in CHECKS:
            yield run_check(check, server)


def run_check(check: Check, server: Server) -> Result:
    """Run one check."""
    try:
        deviation = check.run(server)
    except Mismatch as mismatch:
        return Result(check, "failed", str(mismatch))
    except Skipped as skipped:
        return Result(check, "skipped", str(skipped))
    except Exception as error:  # an answer so strange that the check stumbled over it
        return Result(check, "failed", f"expected a proper answer, received one that led to {error!r}")
    return Result(check, "deviation", f"{deviation} ({DEVIATIONS[deviation]})") if deviation else Result(check, "ok")


def summary(results: Iterable[Result]) -> str:
    """Count the results in a line."""
    counts = Counter(result.outcome for result in results)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("ok", "deviation", "failed", "skipped"))


def _serves_fixtures(server: Server, *, has_rest: bool) -> None:
    try:
        if has_rest:
            is_served = server.ask("GET", "/v1/models/half_plus_two").status == 200
        else:
            is_served = bool(server.available("half_plus_two"))
    except Mismatch as mismatch:
        raise ServingError("the server cannot be reached", received=mismatch.received) from None
    if not is_served:
        raise ServingError(
            "the server does not serve the fixture models",
            expected="half_plus_two, types, slow and on_disk",
            remedy="Write them with `tfattn conformance --write-models DIR` and serve DIR/models.config.",
        )
