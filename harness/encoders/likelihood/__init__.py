"""Probabilities of words in their sentences, from masked and from causal language models (LPBS)."""

from harness.encoders.likelihood.scorer import PairScorer, likelihood_identity, open_scorer

__all__ = ["PairScorer", "likelihood_identity", "open_scorer"]
