"""MLflow: the index that people look at. The result files are the truth: all of it can be made again from them."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from filelock import FileLock

from harness.errors import HarnessError
from harness.result import Result, ResultStore

if TYPE_CHECKING:
    from mlflow import MlflowClient

STATUSES = {"finished": "FINISHED", "failed": "FAILED", "skipped": "FINISHED"}
_PAGE = 1000


@dataclass(frozen=True)
class TrackingSettings:
    """Where to log: what a plan file carries to its worker."""

    runs: Path
    uri: str
    experiment: str


def tracking_settings(config: Mapping[str, Any], runs: Path) -> TrackingSettings | None:
    """Return the settings of a config's ``tracking`` group, or None when tracking is switched off."""
    if config["name"] == "none":
        return None
    if config["name"] != "mlflow":
        raise HarnessError(f"tracking={config['name']}: is one of mlflow, none.")
    uri = config.get("uri") or os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{runs / 'mlflow.db'}"
    return TrackingSettings(runs, uri, config["experiment"])


class Tracker:
    """One experiment in one MLflow server or database.

    ``MlflowClient`` with explicit run ids: MLflow's fluent functions keep a global active run, which parallel
    workers and failed cells leave in the wrong state.
    """

    def __init__(self, settings: TrackingSettings) -> None:
        os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
        from mlflow import MlflowClient

        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)

        self.settings = settings
        settings.runs.mkdir(parents=True, exist_ok=True)
        # One writer at a time: SQLite answers a second one with "database is locked", and two processes that
        # create the same fresh database lose runs to a race in its migrations.
        self._lock = FileLock(settings.runs / "mlflow.lock")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        try:
            with self._lock:
                self.client: MlflowClient = MlflowClient(tracking_uri=settings.uri)
                self.experiment_id = self._experiment()
        except HarnessError:
            raise
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            local = settings.uri.startswith("sqlite:")
            way = (
                "move the database away and `harness sync` makes it again from the results"
                if local
                else "check the server"
            )
            raise HarnessError(
                f"MLflow at {settings.uri} cannot be used ({reason}): {way}, or use tracking=none."
            ) from error

    def _experiment(self) -> str:
        known = self.client.get_experiment_by_name(self.settings.experiment)
        if known is not None:
            if known.lifecycle_stage == "deleted":
                raise HarnessError(
                    f"The MLflow experiment {self.settings.experiment!r} is in the trash; restore it, "
                    "or choose another with tracking.experiment=NAME."
                )
            return str(known.experiment_id)
        local = self.settings.uri.startswith("sqlite:")
        location = (self.settings.runs / "artifacts").as_uri() if local else None
        # Without this tag the UI takes an experiment for traces of a chat application and hides params and metrics.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        name = self.settings.experiment
        return str(self.client.create_experiment(name, artifact_location=location, tags=kind))

    def log(self, result: Result, folder: Path, *, parent: str | None = None) -> str:
        """Record a cell as a run, in one batch, already ended; return the run's id."""
        from mlflow.entities import Metric, Param, RunTag

        started = int(result.started * 1000)
        ended = started + int(result.seconds * 1000)
        tags = {
            "fingerprint": result.fingerprint,
            "status": result.status,
            "mlflow.source.name": "harness",
            "mlflow.source.type": "LOCAL",
            **result.labels,
            **{f"version.{name}": version for name, version in result.versions.items()},
        }
        tags |= {"sweep": result.sweep} if result.sweep else {}
        tags |= {"tag": result.config["tag"]} if result.config.get("tag") else {}
        tags |= {"mlflow.parentRunId": parent} if parent else {}
        tags |= {"reason": result.reason[:5000]} if result.reason else {}
        name = "-".join(str(result.factors[key]) for key in ("model", "test", "method"))
        with self._lock:
            run = self.client.create_run(
                self.experiment_id, start_time=started, tags=tags | _process_tag(), run_name=name
            )
            run_id = str(run.info.run_id)
            self.client.log_batch(
                run_id,
                metrics=[Metric(_metric_name(key), value, ended, 0) for key, value in result.metrics.items()],
                params=[Param(key, str(value)) for key, value in result.factors.items() if value is not None],
                tags=[RunTag("notes", " ".join(result.notes)[:5000])] if result.notes else [],
            )
            self._artifacts(run, [path for path in folder.iterdir() if not path.name.startswith(".")])
            self.client.set_terminated(run_id, STATUSES[result.status], end_time=ended)
        return run_id

    def _artifacts(self, run: Any, files: Iterable[Path]) -> None:
        target = _local_path(run.info.artifact_uri)
        if target is not None:
            target.mkdir(parents=True, exist_ok=True)
        for path in files:
            if target is None:
                self.client.log_artifact(run.info.run_id, str(path))
            else:
                shutil.copyfile(path, target / path.name)

    def open_sweep(self, sweep: str, *, command: str) -> str:
        """Return the parent run of a sweep, open: a new one, or the one that this sweep began before."""
        with self._lock:
            known = self._search(f"tags.sweep_parent = '{sweep}'")
            if known:
                run_id = str(known[0].info.run_id)
                for key, value in _process_tag().items():
                    self.client.set_tag(run_id, key, value)
                self.client.update_run(run_id, status="RUNNING")
                return run_id
            tags = {"sweep_parent": sweep, "sweep": sweep, "command": command[:5000], **_process_tag()}
            run = self.client.create_run(self.experiment_id, tags=tags, run_name=f"sweep-{sweep}")
            return str(run.info.run_id)

    def close_sweep(self, run_id: str, counts: Mapping[str, int], files: Iterable[Path], *, status: str) -> None:
        """Close a sweep's parent with its counts of cells."""
        with self._lock:
            run = self.client.get_run(run_id)
            for key, value in counts.items():
                self.client.log_metric(run_id, f"cells_{key}", value)
            self._artifacts(run, files)
            self.client.set_terminated(run_id, status)

    def log_report(self, sweep: str, files: Iterable[Path]) -> bool:
        """Attach files to the parent run of a sweep; return whether there is one."""
        with self._lock:
            parent = self._parent_of(sweep)
            if parent is None:
                return False
            self._artifacts(self.client.get_run(parent), files)
        return True

    def reconcile(self, results: ResultStore) -> tuple[int, int]:
        """Bring MLflow in line with the result files; return (results synced, abandoned runs closed).

        A result without an ended run is logged, not measured again. A run that a dead process left RUNNING becomes
        KILLED: no successor would ever close it otherwise.
        """
        closed = 0
        with self._lock:
            for run in self._search("attributes.status = 'RUNNING'"):
                if not _alive(run.data.tags.get("process", "")):
                    self.client.set_terminated(run.info.run_id, "KILLED")
                    closed += 1
            logged = {
                (run.data.tags.get("fingerprint"), run.data.tags.get("status"))
                for run in self._search("attributes.status != 'KILLED'")
            }
        synced = 0
        for result in results:
            if (result.fingerprint, result.status) not in logged:
                parent = self._parent_of(result.sweep) if result.sweep else None
                self.log(result, results.folder(result.fingerprint), parent=parent)
                synced += 1
        return synced, closed

    def _parent_of(self, sweep: str) -> str | None:
        known = self._search(f"tags.sweep_parent = '{sweep}'")
        return str(known[0].info.run_id) if known else None

    def _search(self, query: str) -> list[Any]:
        found: list[Any] = []
        token = None
        while True:
            page = self.client.search_runs([self.experiment_id], query, max_results=_PAGE, page_token=token)
            found += page
            token = page.token
            if not token:
                return found


def _metric_name(name: str) -> str:
    """Return a metric's name with an underscore for what MLflow does not take; people name categories as they like."""
    return re.sub(r"[^\w.\- :]", "_", name)


def _local_path(uri: str) -> Path | None:
    parsed = urlparse(uri)
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    return Path(uri) if parsed.scheme == "" else None


def _boot_time(pid: int) -> str:
    """Return when a process began, so that a recycled process number is not taken for the old process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return "0"


def _process_tag() -> dict[str, str]:
    return {"process": f"{socket.gethostname()}:{os.getpid()}:{_boot_time(os.getpid())}"}


def _alive(tag: str) -> bool:
    """Return whether the process named in a tag still runs; one on another machine is taken to."""
    host, _, rest = tag.rpartition(":")[0].rpartition(":")
    began = tag.rpartition(":")[2]
    if not host:
        return False
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(rest), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return began == "0" or _boot_time(int(rest)) == began
