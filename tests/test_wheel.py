"""The wheel works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_holds_configs_stimuli_and_plugins(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    held = set(ZipFile(wheel).namelist())
    assert {"harness/py.typed", "harness/audit/page.css", "harness/audit/references.bib"} <= held
    assert {name.partition("/")[0] for name in held if ".dist-info" not in name} == {"harness", "hydra_plugins"}
    assert {name.split("/")[2] for name in held if name.startswith("harness/_data/")} == {"conf", "stimuli"}
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    # -S and the paths given here: the editable install of the checkout must not be found.
    packages = sysconfig.get_paths()["purelib"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), packages])}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def harness(*arguments: str) -> str:
        command = [sys.executable, "-S", "-m", "harness", *arguments]
        done = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [sys.executable, "-S", "-c", "import harness; print(harness.__file__)"],
        cwd=elsewhere, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(target))
    assert "c10" in harness("ls", "tests")
    harness("run", "-m", "test=c6,c7", "model=googlenews,glove-6b-100d", "tracking=none")
    assert sorted(harness("export", "--columns", "test").split()) == ["c6", "c6", "c7", "c7", "test"]
