"""What is done to contextual vectors because they crowd into a narrow cone: nothing, all-but-the-top, z-scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.options import one_of

POSTPROCESS = ("none", "all_but_the_top", "zscore")


def postprocess(vectors: NDArray[np.floating], how: str, *, components: int) -> NDArray[np.float64]:
    """Postprocess the vectors of one measurement, one row a vector; the rows together give the statistics.

    Parameters
    ----------
    vectors
        All vectors that are compared with each other: of every target and attribute.
    how
        ``none``, ``all_but_the_top`` or ``zscore``.
    components
        Directions that ``all_but_the_top`` removes; no effect on the others.
    """
    one_of("model.postprocess", how, POSTPROCESS)
    if how == "all_but_the_top":
        return all_but_the_top(vectors, components=components)
    return zscore(vectors) if how == "zscore" else np.asarray(vectors, dtype=np.float64)


def all_but_the_top(vectors: NDArray[np.floating], *, components: int) -> NDArray[np.float64]:
    """Subtract the mean vector and the projections on the first principal components.

    Notes
    -----
    Algorithm 1 of Mu & Viswanath (2018), All-but-the-Top: v − μ − Σᵢ (uᵢ·(v − μ)) uᵢ for i ≤ D; they advise D = one
    hundredth of the dimensions. omrani2023 discusses it as the usual answer to anisotropy.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    most = min(rows.shape[0] - 1, rows.shape[1] - 1)
    if not 0 <= components <= most:
        raise HarnessError(
            f"model.components={components}: at most {most} directions can be removed from {rows.shape[0]} vectors in "
            f"{rows.shape[1]} dimensions."
        )
    centred = rows - rows.mean(axis=0)
    top = np.linalg.svd(centred, full_matrices=False)[2][:components]
    return np.asarray(centred - centred @ top.T @ top)


def zscore(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Give every dimension mean 0 and standard deviation 1 over the rows (population form).

    Notes
    -----
    Standardisation of Timkey & van Schijndel (2021): it keeps a few dimensions of huge variance from deciding every
    cosine. A dimension that does not vary becomes 0.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    centred = rows - rows.mean(axis=0)
    spread = rows.std(axis=0)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0))
