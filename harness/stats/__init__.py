"""Statistics on plain arrays: effect sizes, permutation p-values, meta-analysis, regression, ROC.

Nothing here imports the rest of the project; scipy is imported inside the functions that need it. Two functions share
the name of their module and are imported from it: ``anisotropy.anisotropy`` and
``correlation_difference.correlation_difference``.
"""

from .anisotropy import Anisotropy, mean_pairwise_cosine, top_component_share
from .ceat_kernel import CeatLevels, CeatSamples, ceat_levels, ceat_samples
from .correlation_difference import CorrelationDifference
from .effect import (
    Interval,
    associations,
    bca_interval,
    cohens_d,
    cosine_matrix,
    level2_d,
    sc_weat_d,
    similarities,
    unit,
    weat_d,
)
from .errors import (
    EmptySetError,
    NotFiniteError,
    OptionError,
    ShapeError,
    StatsError,
    ZeroVarianceError,
    ZeroVectorError,
)
from .meta import RandomEffects, association_variance, effect_variance, random_effects
from .multiple import adjust
from .paired import ClusterMeans, SignFlipP, cluster_means, clustered_permutation_pvalue, sign_flip_pvalue
from .permutation import PermutationP, permutation_pvalue
from .regression import Correlation, Influence, LeastSquares, least_squares, leave_one_out, pearson, spearman
from .roc import (
    OperatingPoint,
    RocCurve,
    baseline_accuracy,
    choose_threshold,
    eibd_predict,
    hull_auc,
    ibd_predict,
    roc_auc,
    roc_curve,
    score_predict,
    threshold_grid,
)

__all__ = [
    "Anisotropy",
    "CeatLevels",
    "CeatSamples",
    "ClusterMeans",
    "Correlation",
    "CorrelationDifference",
    "EmptySetError",
    "Influence",
    "Interval",
    "LeastSquares",
    "NotFiniteError",
    "OperatingPoint",
    "OptionError",
    "PermutationP",
    "RandomEffects",
    "RocCurve",
    "ShapeError",
    "SignFlipP",
    "StatsError",
    "ZeroVarianceError",
    "ZeroVectorError",
    "adjust",
    "association_variance",
    "associations",
    "baseline_accuracy",
    "bca_interval",
    "ceat_levels",
    "ceat_samples",
    "choose_threshold",
    "cluster_means",
    "clustered_permutation_pvalue",
    "cohens_d",
    "cosine_matrix",
    "effect_variance",
    "eibd_predict",
    "hull_auc",
    "ibd_predict",
    "least_squares",
    "leave_one_out",
    "level2_d",
    "mean_pairwise_cosine",
    "pearson",
    "permutation_pvalue",
    "random_effects",
    "roc_auc",
    "roc_curve",
    "sc_weat_d",
    "score_predict",
    "sign_flip_pvalue",
    "similarities",
    "spearman",
    "threshold_grid",
    "top_component_share",
    "unit",
    "weat_d",
]
