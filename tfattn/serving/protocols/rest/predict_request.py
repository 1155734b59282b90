"""Parsing of a predict request: rows under `instances`, or columns under `inputs`, as arrays by the input's name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.signature import DEFAULT, Signature, Tensor
from tfattn.serving.protocols.rest.dense import check, dense, is_b64
from tfattn.serving.protocols.rest.quoting import quote


@dataclass(frozen=True)
class PredictRequest:
    """The inputs of a request, and the format of its response.

    Attributes:
        by_rows: whether they came in rows.
        inputs: name to array.
    """

    by_rows: bool
    inputs: dict[str, np.ndarray]


def signature_name(document: Mapping[str, Any]) -> str:
    """Read the name of the signature that a request asks for; empty for the default.

    Raises:
        Failure: INVALID_ARGUMENT, it is not a text.
    """
    name = document.get("signature_name", "")
    if type(name) is not str:
        raise invalid(
            f"JSON Value: {quote(document)} not formatted correctly. 'signature_name' key must be a string value."
        )
    return name


def find_signature(signatures: Mapping[str, Signature], name: str) -> Signature:
    """Find the signature of a name; the default where it is empty.

    Raises:
        Failure: INVALID_ARGUMENT, there is none.
    """
    name = name or DEFAULT
    if name not in signatures:
        raise invalid(f'Serving signature name: "{name}" not found in signature def')
    return signatures[name]


class InputParser:
    """The parser of the inputs of a signature.

    Inputs with default values may be left out, unlike in TF Serving's REST: of columns, or of all rows alike.

    Args:
        signature: what is to be computed.
        max_rows: the most rows of a request.
        cut_integers: whether integers that a narrow type cannot hold are cut, as TF Serving does, rather than refused.
    """

    def __init__(self, signature: Signature, *, max_rows: int, cut_integers: bool):
        self._signature = signature
        self._tensors = signature.inputs
        self._max_rows = max_rows
        self._cut_integers = cut_integers

    def parse(self, document: Mapping[str, Any]) -> PredictRequest:
        """Parse the inputs of a body.

        Args:
            document: as `parse` gives it.

        Raises:
            Failure: INVALID_ARGUMENT or UNIMPLEMENTED, they are not what the signature takes.
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
            return PredictRequest(by_rows=True, inputs=self._rows(rows))
        if "inputs" in document:
            return PredictRequest(by_rows=False, inputs=self._columns(document["inputs"]))
        raise invalid("Missing 'inputs' or 'instances' key")

    def _rows(self, rows: list[Any]) -> dict[str, np.ndarray]:
        self._check_size(len(rows))
        if len(self._tensors) > 1 and type(rows[0]) is not dict:
            raise invalid(
                "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
                "tensorinfo_map"
            )
        columns = self._transposed(rows) if _is_named(rows[0]) else {next(iter(self._tensors)): rows}
        arrays = {name: self._dense(column, self._tensors[name]) for name, column in columns.items()}
        if not arrays or any(array is None for array in arrays.values()):
            self._check_rows(rows)
        return arrays

    def _wanted(self, first: Mapping[str, Any]) -> list[str]:
        """List the inputs that rows must have: those without default values, and those that the first row has."""
        return [name for name in self._tensors if name in first or name not in self._signature.defaults]

    def _transposed(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Transpose rows to columns; none where the rows are not objects with exactly the names that are wanted."""
        wanted = self._wanted(rows[0])
        if set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(wanted)}:
            return {}
        try:
            return {name: [row[name] for row in rows] for name in wanted}
        except KeyError:
            return {}

    def _check_rows(self, rows: list[Any]) -> None:
        """Walk through the rows to find what is wrong with them."""
        named = _is_named(rows[0])
        only = next(iter(self._tensors))
        wanted = self._wanted(rows[0]) if named else []
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
            if named and row.keys() != set(wanted):
                missing, extra = sorted(set(wanted) - row.keys()), sorted(row.keys() - set(wanted))
                differs = f"Missing: {','.join(missing)}" if missing else f"Not in the first row: {','.join(extra)}"
                raise invalid(
                    f"Failed to process element: {index} of 'instances' list. JSON object: {quote(row)} keys must be "
                    f"equal to: {','.join(wanted)}. {differs}"
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
        """Walk through a column to find what is wrong with it."""
        try:
            check(value, self._tensors[name].dtype, cut_integers=self._cut_integers)
        except Failure as failure:
            place = f" in the input {name}" if len(self._tensors) > 1 else ""
            raise Failure(failure.code, f"{failure.message}{place}") from None

    def _dense(self, value: Any, tensor: Tensor) -> np.ndarray | None:
        return dense(value, tensor.dtype, cut_integers=self._cut_integers)

    def _check_size(self, num_rows: int) -> None:
        if num_rows > self._max_rows:
            raise invalid(f"{num_rows} rows are more than this server takes at a time: {self._max_rows}")


def _is_named(value: Any) -> bool:
    """Tell whether a value is an object with inputs as its keys."""
    return type(value) is dict and not is_b64(value)


def _shown(shape: list[int]) -> str:
    return f"[{','.join(map(str, shape))}]"
