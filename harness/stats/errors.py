"""Errors of the statistics core: each one is a sentence that names the culprit."""


class StatsError(ValueError):
    """A statistic is not defined for the arrays that were given."""


class EmptySetError(StatsError):
    """A set holds too few values for the statistic."""


class ZeroVarianceError(StatsError):
    """All values are equal, so nothing can be standardised or permuted."""


class ZeroVectorError(StatsError):
    """A vector has length zero, so it has no direction and no cosine."""


class NotFiniteError(StatsError):
    """A value is NaN or infinite."""


class ShapeError(StatsError):
    """An array has the wrong number of axes, or two arrays do not fit."""


class OptionError(StatsError):
    """An option has a value that the function does not know."""
