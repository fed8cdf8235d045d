"""Hydra plugins of the harness: the ``cells`` sweeper and a user's config folder on the search path."""
