"""The verbs as a person uses them: what they print, and the one sentence for each mistake."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from harness.cli import main
from harness.cli.single import show_result
from harness.methods import METHODS
from harness.paths import conf_dir
from harness.result import COLUMNS, Result
from harness.stimuli.yaml_file import read_yaml
from harness.tracking import Tracker, tracking_settings

Cli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["ls", "tests"], ["ls", "models"], ["ls", "--help"]]
)
def test_help_and_lists_import_nothing_heavy(arguments: list[str]) -> None:
    heavy = {"mlflow", "torch", "transformers", "hydra", "pandas", "scipy", "matplotlib", "gensim", "sklearn"}
    code = f"import sys; from harness.cli import main\ntry: main({arguments!r})\nexcept SystemExit: pass\n"
    code += f"print('HEAVY', sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("kind", ["models", "tests", "methods", "experiments", "stats"])
def test_ls_for_programs(cli: Cli, kind: str) -> None:
    status, out, _ = cli("ls", kind, "--json")
    assert status == 0
    assert all(row["name"] for row in json.loads(out))


def test_show_gives_a_tests_words(cli: Cli) -> None:
    status, out, _ = cli("show", "test", "c1", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["X"]["words"][0] == "aster"
    assert "word2vec" in found["variants"]
    assert "'null': exact" in cli("show", "stats", "default")[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rum"], "There is no verb 'rum'. Did you mean run"),
        (["ls", "modles"], "Did you mean models"),
        (["show", "colour", "c1"], "give one of models, tests, methods, experiments, stats"),
        (["show", "test", "c11"], "There is no test named 'c11'. Did you mean c1"),
        (["show", "model", "googelnews"], "Did you mean googlenews"),
        (["run", "model=googelnews"], "There is no model named 'googelnews'. Did you mean googlenews"),
        (["run", "test=c11"], "There is no test named 'c11'"),
        (["run", "stats=caliskan2071"], "Did you mean caliskan2017"),
        (["run", "stats.dof=1"], "There is no key 'stats.dof' in the config. Did you mean stats.ddof"),
        (["run", "polling=last"], "There is no key 'polling'"),
        (["run", "seed=abc"], "seed"),
        (["run", "seed=1,2"], "seed=1,2 gives several values: add -m"),
        (["run", "encoding=sentence"], "This cell has no meaning"),
        (["run", "target=terms"], "has no variant 'terms'"),
        (["run", "missing=none"], "missing=none: is one of error, drop"),
        (["run", "model=vectors"], "model.path"),
        (["run", "model=vectors", "model.path=nowhere.txt"], "nowhere.txt: does not exist"),
        (["run", "model=glove-840b-300d"], "harness fetch"),
        (["run", "test=file", "test.path=nowhere.yaml"], "nowhere.yaml: there is no such file"),
        (["run", "overwrite=perhaps"], "overwrite=perhaps: is one of missing, always, never"),
        (["run", "tracking=nothing"], "There is no tracking named 'nothing'. Did you mean none"),
        (["run", "-m", "seed=interval(0,1)"], "an interval has no cells"),
        (["run", "-m", "published=caliskan2017.tableS2"], "Did you mean caliskan2017.tableS1"),
        (["run", "-m", "hydra/launcher=submitit_slurm"], "pip install 'eat-harness[slurm]'"),
        (["run", "model=null"], "takes a name, not null"),
        (["run", "test='c1"], "test='c1: is not a KEY=VALUE that can be read"),
        (["run", "stats.epsilon=nan"], "stats.epsilon=nan: must be a finite number"),
        (["run", "association=projection", "association.C=inf"], "association.C=inf: must be a finite number"),
        (["run", "stats.exact_limit=-1"], "stats.exact_limit=-1: must be 0"),
        (["run", "stats.ci_resamples=1"], "stats.ci_resamples=1: must be 0"),
        (["run", "hydra.searchpath=[/x]"], "set HARNESS_CONF"),
        (["run", "experiment=dmeo"], "There is no experiment named 'dmeo'. Did you mean demo"),
        (["export"], "No cell is recorded under"),
        (["export", "--sweep", "abc"], "No sweep 'abc' is recorded"),
        (["audit", "last", "--seed", "-1"], "--seed -1: must be 0 or more"),
        (["plot", "abc"], "No recorded cell begins with 'abc'"),
        (["validate", "nowhere"], "nowhere: there is no such file or folder"),
        (["fetch", "minilmm"], "Did you mean minilm"),
        (["sync"], "there is no such folder"),
        (["ui"], "holds no MLflow database yet"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_exit_code_2(
    cli: Cli, arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    status, _, err = cli(*arguments)
    assert status == 2
    assert sentence in err
    assert err.startswith("harness: ")
    assert len(err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("runs/results/*"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: t\nX: [a, b\n", "line 3: not valid YAML"),
        ("name: t\nX: [rose, no]\nY: [a, b]\nA: [c, d]\nB: [e, f]\n", "False is not a text: put the word in quotes"),
        ("name: t\nX: [a, b]\nY: [c, d]\nA: [e, f]\n", "B: is required and missing"),
        ("name: t\nX: [a, b]\nX: [c, d]\n", "line 3: the key 'X' is given twice"),
        ("name: t\nX: caliskan2017/flower\nY: [c, d]\nA: [e, f]\nB: [g, h]\n", "X: There is no concept named"),
        ("name: t\nX: [a, b]\nY: [c, d]\nA: [e, f]\nB: [g, h]\ncolour: red\n", "line 6: colour: is not a key"),
        ("- a\n- b\n", "a mapping of keys to values is needed"),
        ("name: t\nX: [a, b\0c]\n", "line 2: not valid YAML (holds the control character 0x00)"),
        ("name: t\nX: &x [a, *x]\n", "line 2: the alias *x stands inside what it refers to"),
        (f"name: t\nX: {'[' * 200_000}", "line 2: nested more than 100 deep"),
        ("a0: &a0 [a, b]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)),
         "its aliases are more than 1,000,000 values"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_line_and_key(cli: Cli, tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    status, _, err = cli("run", "test=file", f"test.path={path}", f"paths.runs={tmp_path / 'runs'}", "tracking=none")
    assert status == 2
    assert "t.yaml" in err
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_a_file_in_latin_1_is_named(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes("name: t\nX: [café, thé]\n".encode("latin-1"))
    status, _, err = cli("run", "test=file", f"test.path={path}", "tracking=none")
    assert (status, "line 2: not UTF-8" in err) == (2, True)


def test_own_words_run_and_export_in_every_format(cli: Cli, own: list[str], runs: Path, tmp_path: Path) -> None:
    status, out, _ = cli("run", *own)
    assert status == 0
    assert "significant" in out
    table = (
        pd.read_csv(tmp_path / "t.csv") if cli("export", "--runs", runs, "--out", tmp_path / "t.csv")[0] == 0 else None
    )
    assert table is not None
    assert list(table.columns[: len(COLUMNS)]) == COLUMNS
    assert table["test"].tolist() == ["garden"]
    assert cli("export", "--runs", runs, "--out", tmp_path / "t.parquet")[0] == 0
    assert pd.read_parquet(tmp_path / "t.parquet")["d"].iloc[0] == pytest.approx(table["d"].iloc[0])
    assert json.loads(cli("export", "--runs", runs, "--json")[1])[0]["status"] == "finished"
    assert "| garden |" in cli("export", "--runs", runs, "--format", "markdown", "--columns", "test,d")[1]
    assert "garden & " in cli("export", "--runs", runs, "--format", "latex", "--columns", "test,d,n_x")[1]
    assert "n\\_x" in cli("export", "--runs", runs, "--format", "latex", "--columns", "test,d,n_x")[1]


def test_harness_runs_serves_run_and_the_other_verbs(
    cli: Cli, own: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_RUNS", str(tmp_path / "elsewhere"))
    assert cli("run", *(a for a in own if not a.startswith("paths.runs")))[0] == 0
    assert "garden" in cli("export")[1]


def test_a_recorded_cell_is_drawn_later(cli: Cli, own: list[str], runs: Path, tmp_path: Path) -> None:
    cli("run", *own)
    name = next(runs.glob("results/*")).name
    status, out, _ = cli("plot", name[:6], "--runs", runs, "--out", tmp_path / "figures")
    assert status == 0
    assert (tmp_path / "figures" / "associations.png").stat().st_size > 10_000
    assert str(tmp_path / "figures" / "associations.svg") in out


def test_a_users_folder_adds_models_tests_and_experiments_everywhere(
    cli: Cli, vectors: Path, own_test: Path, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "conf"
    for group in ("model", "test", "experiment"):
        (conf / group).mkdir(parents=True)
    (conf / "model" / "mine.yaml").write_text(f"name: mine\nkind: static\npath: {vectors}\ndescription: my vectors\n")
    (conf / "test" / "garden.yaml").write_text(own_test.read_text())
    sweep = "hydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      seed: 1,2\n"
    (conf / "experiment" / "both.yaml").write_text(
        f"# @package _global_\ndefaults:\n  - override /model: mine\n  - override /test: garden\n{sweep}"
    )
    monkeypatch.setenv("HARNESS_CONF", str(conf))
    assert "my vectors" in cli("ls", "models")[1]
    assert "garden" in cli("ls", "tests")[1]
    assert "both" in cli("ls", "experiments")[1]
    assert "garden" in cli("completion", "--words", "run", "test=ga")[1]
    status, _, err = cli("run", "experiment=both", f"paths.runs={runs}", "tracking=none")
    assert (status, "2 measured" in err) == (0, True)
    _, _, err = cli(
        "run", "-m", "model=glob(mine*)", "test=glob(gard*)", f"paths.runs={runs}", "tracking=none", "seed=1,3"
    )
    assert "1 measured, 1 known" in err


def test_a_users_folder_of_stimuli_is_searched_first(
    cli: Cli, vectors: Path, own_test: Path, runs: Path, tmp_path: Path
) -> None:
    stimuli = tmp_path / "stimuli"
    (stimuli / "tests").mkdir(parents=True)
    (stimuli / "tests" / "garden.yaml").write_text(own_test.read_text())
    overrides = [
        "model=vectors",
        f"model.path={vectors}",
        f"paths.stimuli={stimuli}",
        "tracking=none",
        f"paths.runs={runs}",
    ]
    assert cli("run", "test=garden", *overrides)[0] == 0


def test_an_empty_config_key_named_null_is_explained(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stats").mkdir()
    (tmp_path / "stats" / "mine.yaml").write_text("name: mine\nnull: normal\n")
    monkeypatch.setenv("HARNESS_CONF", str(tmp_path))
    status, _, err = cli("run", "stats=mine", "tracking=none", f"paths.runs={tmp_path / 'runs'}")
    assert (status, "write it in quotes" in err) == (2, True)


def test_completion_knows_verbs_groups_and_values(cli: Cli) -> None:
    assert cli("completion", "--words", "ru")[1].split() == ["run"]
    assert "model=" in cli("completion", "--words", "run", "mo")[1]
    assert "model=googlenews" in cli("completion", "--words", "run", "model=goo")[1].split()
    assert "stats=default,wefe" in cli("completion", "--words", "run", "stats=default,we")[1]
    assert "complete -F _harness" in cli("completion", "bash")[1]


def test_the_composed_config_can_be_seen(cli: Cli) -> None:
    status, out, _ = cli("run", "--cfg", "job", "test=c6", "stats.ddof=0")
    assert status == 0
    assert "ddof: 0" in out


def test_an_export_of_the_last_sweep_shows_a_cell_whose_file_is_gone(cli: Cli, own: list[str], runs: Path) -> None:
    assert cli("run", "-m", *own, "stats=default,wefe", "method=weat,ceat")[0] == 0
    gone, *_ = [path for path in (runs / "results").iterdir() if '"finished"' in (path / "result.json").read_text()]
    (gone / "result.json").unlink()
    status, out, _ = cli("export", "--sweep", "last", "--columns", "status,stats,reason", "--runs", runs)
    assert status == 0
    rows = [line.split(",")[0] for line in out.splitlines()[1:]]
    assert sorted(rows) == ["finished", "missing", "skipped", "skipped"]


def test_a_reason_that_is_a_sentence_already_ends_in_one_full_stop(cli: Cli, runs: Path) -> None:
    chosen = ["method=sc-weat", "model=minilm", "test=valence", "association=omrani2023", "context=intersectional"]
    status, _, err = cli("run", *chosen, "context.shuffles=-1", "tracking=none", f"paths.runs={runs}")
    assert status == 2
    assert "shuffles=-1" in err
    assert err.endswith(".\n") and not err.endswith("..\n")


def test_a_disk_that_cannot_be_written_is_one_sentence_and_a_defect_is_not(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: list[str]) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "cells.csv")

    monkeypatch.setattr("harness.cli._dispatch", full)
    assert cli("export") == (2, "", "harness: cells.csv: No space left on device.\n")

    def defect(_: list[str]) -> int:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr("harness.cli._dispatch", defect)
    with pytest.raises(OSError, match="Bad file"):
        cli("export")


def test_a_defect_whose_message_has_several_lines_is_not_taken_for_a_mistake(
    cli: Cli, own: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object, **__: object) -> None:
        raise ValueError("shapes do not fit:\n3 by 4, and 5")

    monkeypatch.setattr("harness.methods.weat.weat", defect)
    with pytest.raises(RuntimeError, match="3 by 4, and 5"):
        cli("run", *own)


def test_the_help_of_run_names_every_key_and_every_method(cli: Cli) -> None:
    out = cli("run", "--help")[1]
    config = read_yaml(conf_dir() / "config.yaml")
    groups = {name for entry in config["defaults"] if isinstance(entry, dict) for name in entry if "hydra" not in name}
    keys = (groups | set(config)) - {"defaults", "hydra", "paths", "plan"}
    assert [key for key in sorted(keys) if f"  {key}=" not in out] == []
    assert set(METHODS) <= set(re.findall(r"[\w-]+", out.partition("method=NAME")[2].partition("\n")[0]))


def test_every_experiment_is_described_by_a_whole_sentence_on_what_it_measures(cli: Cli) -> None:
    described = {row["name"]: row["description"] for row in json.loads(cli("ls", "experiments", "--json")[1])}
    assert [name for name, text in described.items() if not text.endswith(".") or "corpus build" in text] == []
    assert described["ceat_demo"] in json.loads(cli("show", "experiment", "ceat_demo", "--json")[1])["description"]


def test_show_leaves_out_what_is_empty_for_a_reader_but_not_for_a_program(cli: Cli) -> None:
    assert "manifest" not in cli("show", "test", "c1")[1]
    assert json.loads(cli("show", "test", "c1", "--json")[1])["X"]["manifest"] == ""
    assert "exact_limit: null" in cli("show", "stats", "default")[1].splitlines()


def test_a_one_sided_p_does_not_hide_an_effect_on_the_other_side(cli: Cli, own: list[str], own_test: Path) -> None:
    assert "d is negative" not in cli("run", *own)[1]
    lines = own_test.read_text(encoding="utf-8")
    own_test.write_text(lines.translate(str.maketrans("XY", "YX")), encoding="utf-8")
    out = cli("run", *own)[1]
    assert "not significant" in out
    assert "d is negative, against the hypothesis" in out
    assert "d is negative" not in cli("run", *own, "stats.alternative=two-sided")[1]


@pytest.mark.parametrize(("p", "told"), [(0.024, False), (0.988, True)])
def test_the_two_sided_p_of_ceat_hides_nothing(
    p: float, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {"method": "ceat", "test": "c6", "model": "m", "alternative": "greater", "unit": "item"}
    metrics = {"d": -0.1, "p": p, "p_greater": 0.988, "p_two_sided": 0.024}
    show_result(Result("0" * 64, "finished", {}, factors, metrics=metrics), tmp_path, known=False)
    assert ("d is negative" in capsys.readouterr().out) == told


def test_a_sweep_names_the_commands_that_read_it(cli: Cli, own: list[str]) -> None:
    err = cli("run", "-m", *own, "stats=default,wefe")[2]
    sweep = err.partition("sweep ")[2].partition(":")[0]
    assert f"harness compare --sweep {sweep}" in err
    assert f"harness audit {sweep}" in err


def test_what_the_chosen_unit_repeats_is_printed_once_and_an_unwritable_p_by_its_exponent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {"method": "ceat", "test": "c6", "model": "m", "unit": "item"}
    one = {"d": 1.3, "p": 0.0, "log10_p": -1409.27, "p_greater": 0.0}
    metrics = {**one, **{f"{name}_item": value for name, value in one.items()}, "p_stimulus": 0.001}
    show_result(Result("0" * 64, "finished", {}, factors, metrics=metrics), tmp_path, known=False)
    out = capsys.readouterr().out
    assert re.search(r"^ +p  1e-1409 *$", out, re.M)
    assert re.search(r"^ +p_greater  below 1e-307 *$", out, re.M)
    assert "_item" not in out
    assert "p_stimulus" in out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["compare", "--help"], ["fetch"]])
def test_texts_fit_a_terminal_of_80_columns(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    with suppress(SystemExit):
        main(arguments)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert len(shown) > 20
    assert not [line for line in shown if len(line) > 80 and not line.startswith("  harness ")]


def test_an_export_says_how_many_cells_it_wrote(cli: Cli, own: list[str], runs: Path, tmp_path: Path) -> None:
    cli("run", *own)
    status, out, err = cli("export", "--runs", runs, "--out", tmp_path / "t.csv")
    assert (status, out, err) == (0, "", f"{tmp_path / 't.csv'}: 1 cell\n")


def test_the_ui_opens_on_the_runs_of_the_experiment(cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tracking_settings({"name": "mlflow", "experiment": "eat-harness"}, runs)
    assert settings is not None
    number = Tracker(settings).experiment_id
    started: list[list[str]] = []
    monkeypatch.setattr("os.execve", lambda _, command, __: started.append(command))
    _, out, _ = cli("ui", "--runs", runs, "--port", 50_918)
    assert f"http://127.0.0.1:50918/#/experiments/{number}/runs " in out
    assert started[0][started[0].index("--port") + 1] == "50918"
