"""Even two sets out by a seeded draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def drawn(count: int, size: int, *, seed: int) -> NDArray[np.int64]:
    """Return which ``size`` of ``count`` are kept, in their first order: caliskan2017 deleted names at random."""
    rng = np.random.default_rng([seed, count])
    return np.sort(rng.permutation(count)[:size])
