"""Element types, and what memory holds that nobody has written to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.errors import UnsupportedError


def numpy_type(dtype: Any) -> np.dtype[Any]:
    """NumPy's element type for Numba's, or for NumPy's own.

    Raises:
        UnsupportedError: it is neither.
    """
    try:
        return np.dtype(dtype if isinstance(dtype, (type, np.dtype)) else str(dtype))
    except TypeError:
        raise UnsupportedError(f"{dtype!r} is no element type. Use numba.float32, numba.int32 and the like.") from None


def rubbish(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Memory that nothing was written to: NaN, or the type's lowest number, so that using it shows."""
    if dtype.kind in "fc":
        return np.full(shape, np.nan, dtype)
    return np.full(shape, np.iinfo(dtype).min or np.iinfo(dtype).max if dtype.kind in "iu" else True, dtype)
