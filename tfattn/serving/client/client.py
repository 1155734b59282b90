"""A client of servers that speak TF Serving's API: rows in, predictions out."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from grpc import StatusCode

from tfattn import native
from tfattn.errors import RefusedError, ServingError, nearest
from tfattn.formats.columns import even
from tfattn.serving.api.failure import Failure
from tfattn.serving.client.row_outputs import have_labels, named
from tfattn.serving.client.transports.address import Address, Spec
from tfattn.serving.client.transports.metadata import Function, Metadata
from tfattn.serving.client.transports.rest import Rest

FRESH_SECONDS = 1.0  # for so long a version is taken for the newest without asking again
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds between tries

Value = TypeVar("Value")


class NotServedError(ServingError):
    """Raised when the server has no such model, or no such version of it."""


class Transport(Protocol):
    """The contract of a connection to a server."""

    def metadata(self, spec: Spec) -> Metadata: ...

    def predict(
        self, spec: Spec, name: str, function: Function, rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]: ...

    def labels(self, spec: Spec, example: Mapping[str, Any]) -> tuple[str, ...]: ...

    def close(self) -> None: ...


class Client:
    """A client of one server: the built-in one, TF Serving, or another with the same API.

    It asks a model what it takes and gives, and each request goes to the very version that it knows, so that labels
    and scores belong together. Any number of threads may use one.

    Args:
        address: http://HOST:PORT or https:// for REST, grpc://HOST:PORT or grpcs:// for gRPC (which needs TensorFlow).
        token: the bearer token, where the server asks for one.
        authority: a PEM file of certificates to trust, for a server that signed its own.
        timeout: seconds to wait for a response.
        retries: how many more times a request is sent while the server cannot be reached or is too busy.

    Example:
        >>> with Client("http://127.0.0.1:8501") as client:
        ...     client.predict("factory_reports", [{"text": "Coolant is pooling underneath sorter."}])[0]["label"]
        'Leak'
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        authority: str | Path | None = None,
        timeout: float = 30.0,
        retries: int = 0,
    ):
        self.address = Address.of(address)
        self._retries = retries
        self._transport = _transport(self.address, token=token, authority=authority, timeout=timeout)
        self._known: dict[Spec, tuple[float, Metadata]] = {}
        self._labels: dict[tuple[str, int], tuple[str, ...]] = {}

    def metadata(self, model: str, *, version: int | None = None, label: str | None = None) -> Metadata:
        """Ask the server for the inputs and outputs of a version.

        Args:
            model: the model's name.
            version: the version's number; the one that the label names, or else the newest, where not given.
            label: the name of a version.

        Raises:
            ServingError: the server cannot be reached, or has no such model or version.
        """
        return self._renewed(Spec(model, version, label))

    def inputs(self, model: str, *, signature: str = "serving_default") -> tuple[str, ...]:
        """List the names of the inputs of a model's newest version."""
        return tuple(sorted(self._function(Spec(model), self.metadata(model), signature).inputs))

    def predict(
        self,
        model: str,
        rows: Sequence[Mapping[str, Any]],
        *,
        version: int | None = None,
        label: str | None = None,
        signature: str = "serving_default",
    ) -> list[dict[str, Any]]:
        """Request the predictions of rows.

        Args:
            model: the model's name.
            rows: each with a value for each input: text, numbers or nested lists of them. Other keys are not sent.
            version, label: as for `metadata`.
            signature: what is asked for.

        Returns:
            for each row, in their order, the outputs by name. A classifier's are `label`, `label_id`, the `score` of
            that label, and `scores`, from label name to score; where rows may have any number of labels, those that are
            given are `labels`.

        Raises:
            ServingError: a row lacks an input, or the server cannot be reached or refuses.
        """
        rows = list(rows)
        if not rows:
            return []
        spec = Spec(model, version, label)
        try:
            return self._predictions(spec, self._current(spec), signature, rows)
        except NotServedError:
            if version is not None:
                raise
        return self._predictions(spec, self._renewed(spec), signature, rows)  # what was the newest is gone by now

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _current(self, spec: Spec) -> Metadata:
        asked, known = self._known.get(spec, (0.0, None))
        if known and (spec.version is not None or time.monotonic() - asked < FRESH_SECONDS):
            return known
        return self._renewed(spec)

    def _renewed(self, spec: Spec) -> Metadata:
        known = self._patiently(spec, self._transport.metadata)
        self._known[spec] = (time.monotonic(), known)
        return known

    def _predictions(
        self, spec: Spec, known: Metadata, signature: str, rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        function = self._function(spec, known, signature)
        sent = self._sent(spec, function, rows)
        exact = Spec(spec.model, known.version)
        outputs = self._patiently(exact, self._transport.predict, signature, function, sent)
        labels = self._label_names(exact, known, sent[0]) if have_labels(function.outputs) else ()
        return [named(one, labels) for one in outputs]

    def _function(self, spec: Spec, known: Metadata, signature: str) -> Function:
        if signature not in known.signatures:
            raise ServingError(
                "the model has no such signature",
                where=self._place(spec),
                expected=", ".join(sorted(known.signatures)),
                received=signature,
                remedy=nearest(signature, known.signatures),
            )
        return known.signatures[signature]

    def _sent(self, spec: Spec, function: Function, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        names = [name for name in sorted(function.inputs) if name not in function.optional or name in rows[0]]
        for row in rows:
            for name in names:
                if name not in row:
                    raise ServingError(
                        "a row lacks an input",
                        where=self._place(spec),
                        expected=name,
                        received=", ".join(row) or "nothing",
                        remedy=nearest(name, row),
                    )
        columns = {name: [row[name] for row in rows] for name in names}
        columns |= {name: even(columns[name]) for name in function.lists}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def _label_names(self, spec: Spec, known: Metadata, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Ask for the names of the labels in the order of the scores, which `classify` returns for an empty example.

        Of bytes, such as those of an image, those of a row are sent: empty ones are no image.
        """
        if "classify" not in known.signatures:
            return ()
        key = (spec.model, known.version)
        if key not in self._labels:
            inputs = known.signatures["serving_default"].inputs
            example = {name: _NOTHING.get(dtype, 0) for name, dtype in inputs.items()}
            example |= {name: row[name] for name in inputs if isinstance(row.get(name), bytes)}
            self._labels[key] = self._patiently(spec, self._transport.labels, example)
        return self._labels[key]

    def _patiently(self, spec: Spec, function: Callable[..., Value], *arguments: Any) -> Value:
        wait, left = FIRST_WAIT, self._retries
        while True:
            try:
                return function(spec, *arguments)
            except Failure as failure:
                if failure.code is not StatusCode.UNAVAILABLE or not left:
                    raise self._explained(failure, spec) from None
            time.sleep(wait * random.uniform(0.5, 1.5))  # many clients must not come back at once
            wait, left = min(2 * wait, LONGEST_WAIT), left - 1

    def _explained(self, failure: Failure, spec: Spec) -> ServingError:
        what, remedy = _WHY.get(failure.code, ("the server cannot answer", ""))
        kind = _KINDS.get(failure.code, ServingError)
        return kind(what, where=self._place(spec), received=failure.message, remedy=remedy)

    def _place(self, spec: Spec) -> str:
        return f"{self.address}, model {spec.model}"


# Values that say nothing, by type; 0 for all other types.
_NOTHING = {"DT_STRING": "", "DT_FLOAT": 0.0, "DT_DOUBLE": 0.0}

_KINDS = {StatusCode.NOT_FOUND: NotServedError, StatusCode.INVALID_ARGUMENT: RefusedError}

_WHY = {
    StatusCode.UNAVAILABLE: ("the server does not answer", "`tfattn serve` starts one; a busy one wants `retries`."),
    StatusCode.NOT_FOUND: ("the server has no such model, or no such version of it", "It may still be loading."),
    StatusCode.UNAUTHENTICATED: ("the server wants to know who asks", "Give its token: `token`, or `--token-file`."),
    StatusCode.DEADLINE_EXCEEDED: ("the server did not answer in time", "Send fewer rows at once, or wait longer."),
    StatusCode.INVALID_ARGUMENT: ("the server refuses the request", ""),
    StatusCode.FAILED_PRECONDITION: ("the server refuses the request", ""),
}


def _transport(address: Address, *, token: str | None, authority: str | Path | None, timeout: float) -> Transport:
    authority = Path(authority) if authority else None
    try:
        if address.scheme.startswith("http"):
            return Rest(address, token=token, authority=authority, timeout=timeout)
        with native.errors_hidden():
            native.import_tensorflow()
            from tfattn.serving.client.transports.rpc import Rpc  # TensorFlow, which REST does without
        return Rpc(address, token=token, authority=authority, timeout=timeout)
    except OSError as error:
        raise ServingError(f"cannot read the certificates ({error})", where=str(authority)) from None
