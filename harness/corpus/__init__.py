"""Natural contexts: dumps are read and cleaned, every stimulus is found in one pass, a mergeable sample is kept.

The way of a document: ``readers`` gives texts, ``clean`` takes markup away, ``sentences`` cuts, ``matcher`` finds
whole stimuli, ``sampler`` keeps those with the smallest keyed hash, ``merge`` unites samples, ``build`` runs it all.
"""
