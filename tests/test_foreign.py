"""A config from a stranger must not run code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.foreign import refuse_foreign_code

EVIL = {
    "callback": "hydra:\n  callbacks:\n    x:\n      _target_: os.mkdir\n      path: MARK\n",
    "dotted callback": "hydra.callbacks.x:\n  _target_: os.mkdir\n",
    "target anywhere": "model:\n  nested:\n    - deep: {_target_: os.mkdir}\n",
    "launcher": "hydra:\n  launcher:\n    n_jobs: 3\n",
    "search path": "hydra:\n  searchpath: [file:///elsewhere]\n",
    "package header": "# @package hydra.callbacks\nx: {a: 1}\n",
    "defaults": "defaults:\n  - override hydra/launcher: other\n",
    "defaults package": "defaults:\n  - model@hydra.callbacks: x\n",
    "anchor": "a: &a {_target_: os.mkdir}\nb: *a\n",
}


@pytest.mark.parametrize("kind", EVIL)
def test_a_file_that_names_code_or_reaches_into_hydra_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "evil.yaml").write_text(EVIL[kind])
    with pytest.raises(HarnessError, match=r"evil\.yaml"):
        refuse_foreign_code(tmp_path)


def test_a_folder_named_hydra_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hydra" / "launcher").mkdir(parents=True)
    with pytest.raises(HarnessError, match="may not change Hydra's own config"):
        refuse_foreign_code(tmp_path)


def test_mode_and_sweeper_params_are_allowed(tmp_path: Path) -> None:
    text = "# @package _global_\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      seed: 1,2\n"
    (tmp_path / "fine.yaml").write_text(text)
    refuse_foreign_code(tmp_path)


def test_nothing_is_run_before_it_is_refused(
    tmp_path: Path, cli: Callable[..., tuple[int, str, str]], own: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "was-here"
    conf = tmp_path / "conf"
    (conf / "experiment").mkdir(parents=True)
    text = "# @package _global_\n" + EVIL["callback"].replace("MARK", str(mark))
    (conf / "experiment" / "evil.yaml").write_text(text)
    monkeypatch.setenv("HARNESS_CONF", str(conf))
    status, _, err = cli("run", *own, "experiment=evil")
    assert status == 2
    assert "hydra.callbacks" in err
    assert not mark.exists()


def test_an_experiment_may_not_sweep_hydra(
    tmp_path: Path, cli: Callable[..., tuple[int, str, str]], own: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    text = "# @package _global_\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      hydra.job.name: a,b\n"
    (tmp_path / "conf" / "experiment" / "evil.yaml").write_text(text)
    monkeypatch.setenv("HARNESS_CONF", str(tmp_path / "conf"))
    status, _, err = cli("run", *own, "experiment=evil")
    assert status == 2
    assert "may not sweep Hydra" in err


@pytest.mark.parametrize("flag", ["--config-dir", "-cd"])
def test_hydras_own_flags_are_checked_too(
    tmp_path: Path, cli: Callable[..., tuple[int, str, str]], own: list[str], flag: str
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "evil.yaml").write_text(EVIL["callback"])
    status, _, err = cli("run", *own, flag, tmp_path / "conf")
    assert status == 2
    assert "hydra.callbacks" in err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# @package _global_\ndefaults: [own]\n", "The defaults of a config lead back to that config"),
        ("# @package _global_\ndefaults: 3\n", "defaults: is a list of other configs; found 3"),
    ],
)
def test_defaults_and_params_that_make_no_config_are_one_sentence(
    cli: Callable[..., tuple[int, str, str]],
    own: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    sentence: str,
) -> None:
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "own.yaml").write_text(text)
    monkeypatch.setenv("HARNESS_CONF", str(tmp_path / "conf"))
    status, _, err = cli("run", "-m", *own, "experiment=own")
    assert status == 2
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
