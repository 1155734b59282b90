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
from tfattn.serving.client.row_values import as_text, have_labels, named, records
from tfattn.serving.client.transports.address import Address, Function, Metadata, Spec
from tfattn.serving.client.transports.rest import Rest

FRESH_SECONDS = 1.0  # for which the newest version is not looked up again
FIRST_WAIT, MAX_WAIT = 0.1, 5.0  # seconds between tries

Value = TypeVar("Value")


class NotServedError(ServingError):
    """Raised when the server does not have the model or the version."""


class Transport(Protocol):
    """The contract of a connection to a server."""

    def metadata(self, spec: Spec) -> Metadata: ...

    def predict(
        self, spec: Spec, name: str, function: Function, rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]: ...

    def labels(self, spec: Spec, example: Mapping[str, Any]) -> tuple[str, ...]: ...

    def close(self) -> None: ...


class Client:
    """A client of the built-in server, TF Serving, or another server with the same API.

    The client asks the server for the signatures of a model. Requests name the version of these signatures, so that
    labels and scores match. Any number of threads may use a client.

    Args:
        address: http://HOST:PORT or https:// for REST, grpc://HOST:PORT or grpcs:// for gRPC (which needs TensorFlow).
        token: the bearer token, if the server needs one.
        authority: a PEM file of trusted certificates, for a server with a self-signed certificate.
        timeout: seconds to wait for a response.
        retries: the number of retries while the server cannot be reached or is too busy.

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
        """Request the signatures of a version.

        Args:
            model: the model's name.
            version: the version's number; None for the version of the label, or else the newest version.
            label: the label of a version.

        Raises:
            ServingError: the server cannot be reached, or does not have the model or version.
        """
        return self._renewed(Spec(model, version, label))

    def inputs(self, model: str, *, signature: str = "serving_default") -> tuple[str, ...]:
        """Return the names of the inputs of a model's newest version."""
        return tuple(sorted(self._function(Spec(model), self.metadata(model), signature).inputs))

    def predict(
        self,
        model: str,
        rows: Any,
        *,
        version: int | None = None,
        label: str | None = None,
        signature: str = "serving_default",
    ) -> list[dict[str, Any]]:
        """Request the predictions of rows.

        Args:
            model: the model's name.
            rows: mappings with a value for each input (text, numbers or nested lists of them), or a pandas DataFrame.
                Other keys are not sent. Numbers for text inputs, such as integer categories, are sent as text.
            version, label: as for `metadata`.
            signature: the signature to call.

        Returns:
            the outputs of each row by name. A classifier returns `label`, `label_id`, the `score` of the label, and
            `scores` by label; a multi-label classifier returns `labels` and `scores`.

        Raises:
            ServingError: a row lacks an input, or the server cannot be reached or refuses the request.
        """
        rows = records(rows)
        if not rows:
            return []
        spec = Spec(model, version, label)
        try:
            return self._predictions(spec, self._current(spec), signature, rows)
        except NotServedError:
            if version is not None:
                raise
        return self._predictions(spec, self._renewed(spec), signature, rows)  # the newest version has changed

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
        known = self._with_retries(spec, self._transport.metadata)
        self._known[spec] = (time.monotonic(), known)
        return known

    def _predictions(
        self, spec: Spec, known: Metadata, signature: str, rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        function = self._function(spec, known, signature)
        sent = self._sent(spec, function, rows)
        exact = Spec(spec.model, known.version)
        outputs = self._with_retries(exact, self._transport.predict, signature, function, sent)
        labels = self._label_names(exact, known, sent[0]) if have_labels(function.outputs) else ()
        return [named(output, labels) for output in outputs]

    def _function(self, spec: Spec, known: Metadata, signature: str) -> Function:
        if signature not in known.signatures:
            raise ServingError(
                "the model has no such signature",
                where=self._where(spec),
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
                        where=self._where(spec),
                        expected=name,
                        received=", ".join(row) or "nothing",
                        remedy=nearest(name, row),
                    )
        columns = {name: [row[name] for row in rows] for name in names}
        columns |= {name: even(columns[name]) for name in function.lists}
        texts = (name for name in names if function.inputs[name] == "DT_STRING" and name not in function.lists)
        columns |= {name: [as_text(value) for value in columns[name]] for name in texts}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def _label_names(self, spec: Spec, known: Metadata, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the labels in the order of the scores, which `classify` returns for an empty example.

        Inputs of bytes, such as images, are those of a row, because empty bytes are not an image.
        """
        if "classify" not in known.signatures:
            return ()
        key = (spec.model, known.version)
        if key not in self._labels:
            inputs = known.signatures["serving_default"].inputs
            example = {name: _EMPTY.get(dtype, 0) for name, dtype in inputs.items()}
            example |= {name: row[name] for name in inputs if isinstance(row.get(name), bytes)}
            self._labels[key] = self._with_retries(spec, self._transport.labels, example)
        return self._labels[key]

    def _with_retries(self, spec: Spec, function: Callable[..., Value], *arguments: Any) -> Value:
        wait, left = FIRST_WAIT, self._retries
        while True:
            try:
                return function(spec, *arguments)
            except Failure as failure:
                if failure.code is not StatusCode.UNAVAILABLE or not left:
                    raise self._explained(failure, spec) from None
            time.sleep(wait * random.uniform(0.5, 1.5))  # spreads the retries of many clients
            wait, left = min(2 * wait, MAX_WAIT), left - 1

    def _explained(self, failure: Failure, spec: Spec) -> ServingError:
        what, remedy = _REASONS.get(failure.code, ("the server cannot answer", ""))
        kind = _KINDS.get(failure.code, ServingError)
        return kind(what, where=self._where(spec), received=failure.message, remedy=remedy)

    def _where(self, spec: Spec) -> str:
        return f"{self.address}, model {spec.model}"


# Empty values by type; 0 for all other types.
_EMPTY = {"DT_STRING": "", "DT_FLOAT": 0.0, "DT_DOUBLE": 0.0}

_KINDS = {StatusCode.NOT_FOUND: NotServedError, StatusCode.INVALID_ARGUMENT: RefusedError}

_REASONS = {
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
            from tfattn.serving.client.transports.rpc import Rpc  # imports TensorFlow, which REST does not need
        return Rpc(address, token=token, authority=authority, timeout=timeout)
    except OSError as error:
        raise ServingError(f"cannot read the certificates ({error})", where=str(authority)) from None
