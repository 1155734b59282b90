"""Parsing of predict requests: rows under `instances`, or columns under `inputs`, to arrays by input name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.signature import DEFAULT, Signature, Tensor
from tfattn.serving.protocols.rest.dense import check, dense, is_b64
from tfattn.serving.protocols.rest.parse import quote


@dataclass(frozen=True)
class PredictRequest:
    """The inputs of a request, and the format of its response.

    Attributes:
        row_format: whether the request lists rows (`instances`) rather than columns (`inputs`).
        inputs: arrays by input name.
    """

    row_format: bool
    inputs: dict[str, np.ndarray]


def signature_name(document: Mapping[str, Any]) -> str:
    """Return the requested signature's name; empty for the default.

    Raises:
        Failure: INVALID_ARGUMENT, the name is not a string.
    """
    name = document.get("signature_name", "")
    if type(name) is not str:
        raise invalid(
            f"JSON Value: {quote(document)} not formatted correctly. 'signature_name' key must be a string value."
        )
    return name


def find_signature(signatures: Mapping[str, Signature], name: str) -> Signature:
    """Return the signature of a name, or the default signature for an empty name.

    Raises:
        Failure: INVALID_ARGUMENT, the model has no such signature.
    """
    name = name or DEFAULT
    if name not in signatures:
        raise invalid(f'Serving signature name: "{name}" not found in signature def')
    return signatures[name]


class InputParser:
    """The parser of the inputs of a signature.

    Inputs with default values are optional, unlike in TF Serving's REST API. Rows must all omit the same inputs.

    Args:
        signature: the signature.
        max_rows: the maximum number of rows of a request.
        cut_integers: whether integers that overflow a narrow type are truncated, like in TF Serving, or refused.
    """

    def __init__(self, signature: Signature, *, max_rows: int, cut_integers: bool):
        self._signature = signature
        self._tensors = signature.inputs
        self._max_rows = max_rows
        self._cut_integers = cut_integers

    def parse(self, document: Mapping[str, Any]) -> PredictRequest:
        """Parse the inputs of a body.

        Args:
            document: a parsed JSON object.

        Raises:
            Failure: INVALID_ARGUMENT or UNIMPLEMENTED, the inputs do not fit the signature.
        """
        if not self._tensors:
            raise invalid(f"Failed to get input map for signature: {self._signature.name}")
        if "instances" in document and "inputs" in document:
            raise invalid(
                f"JSON Value: {quote(document)} Not formatted correctly expecting only one of 'inputs' or 'instances' "
                "keys to exist "
            )
        if "instances" in document:
            rows = document["instances"]
            if type(rows) is not list:
                raise invalid(f"JSON Value: {quote(document)} Expecting 'instances' to be an list/array")
            if not rows:
                raise invalid(f"JSON Value: {quote(document)} No values in 'instances' array")
            return PredictRequest(row_format=True, inputs=self._rows(rows))
        if "inputs" in document:
            return PredictRequest(row_format=False, inputs=self._columns(document["inputs"]))
        raise invalid("Missing 'inputs' or 'instances' key")

    def _rows(self, rows: list[Any]) -> dict[str, np.ndarray]:
        self._check_size(len(rows))
        if len(self._tensors) > 1 and type(rows[0]) is not dict:
            raise invalid(
                "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
                "tensorinfo_map"
            )
        columns = self._transpose(rows) if _is_named(rows[0]) else {next(iter(self._tensors)): rows}
        arrays = {name: self._dense(column, self._tensors[name]) for name, column in columns.items()}
        if not arrays or any(array is None for array in arrays.values()):
            self._check_rows(rows)
        return arrays

    def _required_names(self, first: Mapping[str, Any]) -> list[str]:
        """Return the inputs that every row must have: inputs without default values and inputs of the first row."""
        return [name for name in self._tensors if name in first or name not in self._signature.defaults]

    def _transpose(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Transpose rows to columns; return none if a row is not an object with exactly the required names."""
        required = self._required_names(rows[0])
        if set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(required)}:
            return {}
        try:
            return {name: [row[name] for row in rows] for name in required}
        except KeyError:
            return {}

    def _check_rows(self, rows: list[Any]) -> None:
        """Check each row and raise the failure of the first invalid row."""
        named = _is_named(rows[0])
        only = next(iter(self._tensors))
        required = self._required_names(rows[0]) if named else []
        sizes: dict[str, tuple[int, list[int]]] = {}
        for index, row in enumerate(rows):
            if named != _is_named(row):
                expected, received = ("object", "list") if named else ("value/list", "object")
                raise invalid(f"Expecting {expected} but got {received} at item {index} of input list")
            for name, value in row.items() if named else ((only, row),):
                try:
                    self._check_item(name, value, sizes)
                except Failure as failure:
                    key = f" key: {name}" if named else ""
                    raise invalid(
                        f"Failed to process element: {index}{key} of 'instances' list. "
                        f"Error: {failure.code.name}: {failure.message}"
                    ) from None
            if named and row.keys() != set(required):
                missing, extra = sorted(set(required) - row.keys()), sorted(row.keys() - set(required))
                differs = f"Missing: {','.join(missing)}" if missing else f"Not in the first row: {','.join(extra)}"
                raise invalid(
                    f"Failed to process element: {index} of 'instances' list. JSON object: {quote(row)} keys must be "
                    f"equal to: {','.join(required)}. {differs}"
                )

    def _check_item(self, name: str, value: Any, sizes: dict[str, tuple[int, list[int]]]) -> None:
        if name not in self._tensors:
            raise invalid(f"JSON object: does not have named input: {name}")
        size, shape = check(value, self._tensors[name].dtype, cut_integers=self._cut_integers)
        first_size, first_shape = sizes.setdefault(name, (size, shape))
        if size != first_size:
            raise invalid(f"Expecting tensor size: {first_size} but got: {size}")
        if shape != first_shape:
            raise invalid(f"Expecting shape {_shown(first_shape)} but got: {_shown(shape)}")

    def _columns(self, value: Any) -> dict[str, np.ndarray]:
        if not _is_named(value):
            if len(self._tensors) > 1:
                raise invalid(
                    "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
                    "tensorinfo_map"
                )
            value = {next(iter(self._tensors)): value}
        arrays = {}
        for name, tensor in self._tensors.items():
            if name not in value:
                if name in self._signature.defaults:
                    continue
                raise invalid(f"Missing named input: {name} in 'inputs' object.")
            array = self._dense(value[name], tensor)
            if array is None:
                self._check_column(name, value[name])
            elif tensor.has_rows and array.ndim:
                self._check_size(len(array))
            arrays[name] = array
        return arrays

    def _check_column(self, name: str, value: Any) -> None:
        """Check each value of a column and raise the failure of the first invalid value."""
        try:
            check(value, self._tensors[name].dtype, cut_integers=self._cut_integers)
        except Failure as failure:
            location = f" in the input {name}" if len(self._tensors) > 1 else ""
            raise Failure(failure.code, f"{failure.message}{location}") from None

    def _dense(self, value: Any, tensor: Tensor) -> np.ndarray | None:
        return dense(value, tensor.dtype, cut_integers=self._cut_integers)

    def _check_size(self, num_rows: int) -> None:
        if num_rows > self._max_rows:
            raise invalid(f"{num_rows} rows exceed the server's limit of {self._max_rows} rows per request")


def _is_named(value: Any) -> bool:
    """Return whether a value is an object with input names as its keys."""
    return type(value) is dict and not is_b64(value)


def _shown(shape: list[int]) -> str:
    return f"[{','.join(map(str, shape))}]"
