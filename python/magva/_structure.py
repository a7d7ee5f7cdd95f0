"""How the quantities of a fit form named arrays, and what else ArviZ is told about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variable:
    """An array of the model, and where its elements are among the quantities."""

    name: str
    shape: tuple[int, ...]
    rows: NDArray[np.intp]
    dims: tuple[str, ...] | None = None

    def take(self, draws: Array) -> Array:
        """Out of draws (S, q): this variable's, (S, *shape)."""
        return draws[:, self.rows].reshape(len(draws), *self.shape)


@dataclass(frozen=True)
class Structure:
    """The variables of a fit; coordinates of their dimensions; the observed data, where an adapter knows them."""

    variables: tuple[Variable, ...]
    coords: Mapping[str, Any] = field(default_factory=dict)
    observed: Mapping[str, Any] = field(default_factory=dict)
    observed_dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Of draws of theta (S, m): groups of arrays (S, ...) such as 'log_likelihood'.
    groups: Mapping[str, Callable[[Array], dict[str, Array]]] = field(default_factory=dict)

    @staticmethod
    def from_names(names: Sequence[str], group_terms: Sequence[tuple[str, list[str], list[str]]] = ()) -> Structure:
        """theta[1], theta[2], ... become the array theta; names without such indices stay scalars.

        Of a group term (name, levels, effects), "school[A]: Intercept", "school[B]: Intercept", ... become "school: Intercept".
        """
        place = {name: i for i, name in enumerate(names)}
        coords: dict[str, list[str]] = {}
        effects = []
        for group, levels, own in group_terms:
            dim = f"{group}__level"
            coords[dim] = levels
            for effect in own:
                rows = np.array([place.pop(f"{group}[{level}]: {effect}") for level in levels])
                effects.append(Variable(f"{group}: {effect}", (len(levels),), rows, (dim,)))
        rest = np.array(list(place.values()), dtype=np.intp)
        found = [Variable(name, tuple(shape), rest[np.asarray(rows)]) for name, shape, rows in _core.group_variables(list(place))]
        return Structure((*found, *effects), coords)

    @staticmethod
    def from_shapes(shapes: Mapping[str, tuple[int, ...]], dims: Mapping[str, tuple[str, ...]] | None = None, **more: Any) -> Structure:
        """Variables one after the other, each in C order."""
        variables, first = [], 0
        for name, shape in shapes.items():
            size = int(np.prod(shape, dtype=int))
            variables.append(Variable(name, tuple(shape), np.arange(first, first + size), (dims or {}).get(name)))
            first += size
        return Structure(tuple(variables), **more)


def element_names(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """mu, theta[1], theta[2], Sigma[1,1], ...: as Stan writes them, last index fastest."""
    names = []
    for name, shape in shapes.items():
        if not shape:
            names.append(name)
        names += [f"{name}[{','.join(str(i + 1) for i in index)}]" for index in np.ndindex(*shape) if shape]
    return names
