"""Element types: NumPy's for Numba's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulab.trace.errors import UnsupportedError


def numpy_type(dtype: Any) -> np.dtype[Any]:
    """NumPy's element type for Numba's, or for NumPy's own.

    Raises:
        UnsupportedError: it is neither.
    """
    try:
        return np.dtype(dtype if isinstance(dtype, (type, np.dtype)) else str(dtype))
    except TypeError:
        raise UnsupportedError(
            f"{dtype!r} is not an element type. Use numba.float32, numba.int32 and the like."
        ) from None
