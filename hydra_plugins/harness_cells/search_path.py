"""Puts the folder that ``HARNESS_CONF`` names on Hydra's search path, so that ``run``, ``glob`` and help all see it."""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

from harness.paths import conf_dir, user_conf_dir


class HarnessSearchPath(SearchPathPlugin):
    """Appends a user's folder after the shipped groups, and only for the harness itself."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folder, if there is one."""
        user = user_conf_dir()
        ours = any(str(conf_dir()) in (element.path or "") for element in search_path.get_path())
        if user is not None and ours:
            search_path.append("harness-user", f"file://{user}")
