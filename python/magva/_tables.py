"""Tables of Python as the engine's: pandas, polars, Arrow, NumPy arrays and SciPy's sparse matrices.

Columns of numbers stay numbers; texts, categories and booleans become texts with levels, as if the table had been written to a CSV
file and read by the program. Missing values of any kind are missing, and so are texts that the program reads as missing (NA, ?).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core


class _Builder:
    """The engine's table, and a digest of what went into it."""

    def __init__(self, source: str, as_text: set[str]) -> None:
        self.table = _core.Table(source)
        self._digest = hashlib.sha256()
        self._as_text = as_text

    def numbers(self, name: str, values: Any) -> None:
        column = np.ascontiguousarray(values, dtype=np.float64)
        if name in self._as_text:
            levels, codes = np.unique(column[~np.isnan(column)], return_inverse=True)
            spread = np.full(len(column), -1)
            spread[~np.isnan(column)] = codes
            self.texts(name, spread, [_number_text(level) for level in levels])
            return
        self._digest.update(name.encode() + b"\0")
        self._digest.update(column.data)
        self.table.add_numbers(name, column)

    def texts(self, name: str, codes: Any, levels: Sequence[Any]) -> None:
        """``codes`` count from 0; negative ones are missing."""
        column = np.ascontiguousarray(codes, dtype=np.int64)
        texts = [_level_text(level) for level in levels]
        self._digest.update("\0".join([name, *texts]).encode() + b"\0")
        self._digest.update(column.data)
        self.table.add_text(name, column, texts)

    def finish(self) -> _core.Table:
        self.table.set_sha256(self._digest.hexdigest())
        return self.table


def _number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _level_text(level: Any) -> str:
    return _number_text(float(level)) if isinstance(level, (float, np.floating)) else str(level)


def _refuse(name: str, kind: object) -> _core.DataError:
    return _core.DataError(f"the column '{name}' holds values of type {kind}: make numbers or texts of them, or leave the column out")


def _add_pandas(builder: _Builder, data: Any) -> None:
    import pandas as pd

    for label, column in data.items():
        name, kind = str(label), column.dtype
        if isinstance(kind, pd.CategoricalDtype):
            builder.texts(name, column.cat.codes.to_numpy(), list(column.cat.categories))
        elif pd.api.types.is_bool_dtype(kind) or pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind):
            _add_objects(builder, name, column)
        elif pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
            builder.numbers(name, column.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            raise _refuse(name, kind)


def _add_objects(builder: _Builder, name: str, column: Any) -> None:
    """Texts or booleans; a column of objects that are numbers is one of numbers."""
    import pandas as pd

    try:
        codes, levels = pd.factorize(column, use_na_sentinel=True)
    except TypeError:  # lists, mappings, arrays
        odd = next(value for value in column if not isinstance(value, Hashable))
        raise _refuse(name, type(odd).__name__) from None
    if not all(isinstance(level, (str, bool, int, float, np.bool_, np.number)) for level in levels):
        odd = next(level for level in levels if not isinstance(level, (str, bool, int, float, np.bool_, np.number)))
        raise _refuse(name, type(odd).__name__)
    if len(levels) and all(isinstance(level, (int, float, np.number)) and not isinstance(level, (bool, np.bool_)) for level in levels):
        values = np.append(np.asarray(levels, dtype=np.float64), np.nan)
        builder.numbers(name, values[codes])
        return
    builder.texts(name, codes, list(levels))


def _add_arrow(builder: _Builder, data: Any) -> None:
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("this table is read by the Arrow C data interface, which needs pyarrow: pip install pyarrow") from None
    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except (pa.ArrowException, TypeError, ValueError):  # one column, such as a Series
        raise _no_table(data) from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            floats = column.cast(pa.float64(), safe=False)
            builder.numbers(name, floats.to_numpy(zero_copy_only=False) if floats.null_count == 0 else floats.fill_null(np.nan).to_numpy())
        elif pa.types.is_dictionary(kind) or _is_text(kind) or pa.types.is_boolean(kind):
            plain = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
            whole = plain.combine_chunks() if plain.num_chunks != 1 else plain.chunk(0)
            whole = whole.unify_dictionaries() if isinstance(whole, pa.ChunkedArray) else whole
            builder.texts(name, whole.indices.cast(pa.int64()).fill_null(-1).to_numpy(), whole.dictionary.to_pylist())
        elif pa.types.is_null(kind):
            builder.numbers(name, np.full(len(column), np.nan))
        else:
            raise _refuse(name, kind)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _add_mapping(builder: _Builder, data: Mapping[str, Any]) -> None:
    columns = {str(name): _column(str(name), column) for name, column in data.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise _core.DataError(f"the columns are not of one length: {lengths}")
    for name, column in columns.items():
        _add_array(builder, name, column)


def _column(name: str, values: Any) -> np.ndarray[Any, Any]:
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise _core.DataError(f"the column '{name}' has shape {array.shape} and must be one-dimensional")
    return array


def _add_array(builder: _Builder, name: str, array: np.ndarray[Any, Any]) -> None:
    """Numbers, texts or booleans; an array of objects that are all numbers is one of numbers."""
    if array.dtype.kind in "fiu":
        builder.numbers(name, unmasked(array))
        return
    if array.dtype.kind not in "bUO":
        raise _refuse(name, array.dtype)
    levels, codes = _factorize(name, array)
    if levels and all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in levels):
        builder.numbers(name, np.append(np.asarray(levels, dtype=np.float64), np.nan)[codes])
    else:
        builder.texts(name, codes, levels)


def unmasked(array: Any) -> np.ndarray[Any, Any]:
    """Numbers in double precision, with NaN for those that a mask hides."""
    if isinstance(array, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(array), np.nan, np.asarray(array.data, dtype=np.float64))
    return np.asarray(array, dtype=np.float64)


def _factorize(name: str, array: np.ndarray[Any, Any]) -> tuple[list[Any], list[int]]:
    known: dict[Any, int] = {}
    codes = []
    for value in array.tolist():
        if isinstance(value, (str, bool, int, float)):
            codes.append(known.setdefault(value, len(known)) if value == value else -1)
        elif value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
            codes.append(-1)
        else:
            raise _refuse(name, type(value).__name__)
    return list(known), codes


def make_table(data: Any, *, text: Sequence[str] = ()) -> _core.Table:
    """The engine's table for a pandas, polars or Arrow table, or a mapping of names to columns."""
    builder = _Builder("the table", set(text))
    if _is_from(data, "pandas"):
        _add_pandas(builder, data)
    elif hasattr(data, "__arrow_c_stream__"):
        _add_arrow(builder, data)
    elif isinstance(data, Mapping):
        _add_mapping(builder, data)
    else:
        raise _no_table(data)
    table = builder.finish()
    if not table.names or table.rows == 0:
        raise _core.DataError("the table has no rows or no columns")
    return table


def _no_table(data: Any) -> TypeError:
    return TypeError(
        f"the data are a {type(data).__name__} and must be a pandas, polars or Arrow table or a mapping of names to columns; "
        "for arrays, use magva.fit_arrays(X, y)"
    )


def _is_from(data: Any, package: str) -> bool:
    return type(data).__module__.split(".")[0] == package and hasattr(data, "columns")


def make_array_table(x: Any, names: Sequence[str], response: tuple[str, Any], weights: tuple[str, Any] | None) -> _core.Table:
    """The engine's table for a matrix of predictors, dense or sparse, with its response."""
    builder = _Builder("the data", set())
    sparse = hasattr(x, "tocsr")
    if not sparse:
        for j, name in enumerate(names):
            builder.numbers(name, x[:, j])
    for extra in (response, weights):
        if extra is not None:
            _add_array(builder, extra[0], _column(*extra))
    if sparse:
        rows = x.tocsr()
        rows.sum_duplicates()
        builder.table.set_features(
            np.ascontiguousarray(rows.indptr, dtype=np.int64),
            np.ascontiguousarray(rows.indices, dtype=np.int32),
            np.ascontiguousarray(rows.data, dtype=np.float64),
            rows.shape[1],
        )
    return builder.finish()
