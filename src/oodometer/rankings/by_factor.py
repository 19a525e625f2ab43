"""By factor: factors of several models as methods of ranking, a higher factor ranked lower."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Array
from ..attributions.factors import FactorTable
from ..errors import UsageError


def factor_methods(tables: Mapping[str, FactorTable]) -> dict[str, Array]:
    """Factor -> minus its values, shape (model, row), nan where its words do not occur; larger = better.

    Factors that no example of any model has are left out. Raises `UsageError` for fewer than two models, and for tables
    of different factors or examples.

    Parameters
    ----------
    tables :
        Model -> its `FactorTable`; the same factors and examples for all.

    >>> a, b = FactorTable(("adj",), np.array([[1.0, np.nan]])), FactorTable(("adj",), np.array([[0.5, np.nan]]))
    >>> factor_methods({"a": a, "b": b})["adj"].tolist()
    [[-1.0, nan], [-0.5, nan]]
    """
    if len(tables) < 2:
        raise UsageError(f"expected factors of at least two models, got {len(tables)}")
    first = next(iter(tables.values()))
    for model, table in tables.items():
        if table.names != first.names or table.values.shape != first.values.shape:
            raise UsageError(f"expected the same factors and examples of all models, got others for {model}")
    values = -np.stack([table.values for table in tables.values()], axis=1)
    return {name: of for name, of in zip(first.names, values, strict=True) if not np.isnan(of).all()}
