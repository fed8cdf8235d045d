"""LPBS at the command line: what a model or a word lacks is one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.encoders.likelihood_tiny import save_masked
from tests.encoders.transformer_tiny import save

Cli = Callable[..., tuple[int, str, str]]
OWN = "name: own\nX: [雪雪, rose]\nY: [male, nurse]\nA: [theatre, hello]\nB: [people, another]\n"


def headless(folder: Path) -> Path:
    return save("bert", folder)


def maskless(folder: Path) -> Path:
    path = save_masked(folder) / "tokenizer_config.json"
    about = json.loads(path.read_text())
    del about["mask_token"]
    path.write_text(json.dumps(about))
    return folder


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (headless, "tiny (BertModel) has no head that gives probabilities of words"),
        (maskless, "The tokenizer of tiny has no mask token"),
        (save_masked, "The vocabulary of tiny holds nothing of 雪雪 (X)"),
    ],
)
def test_what_lpbs_lacks_is_one_sentence_and_exit_code_2(
    cli: Cli, tmp_path: Path, write: Callable[[Path], Path], sentence: str
) -> None:
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    folder = write(tmp_path / "model")
    model = ["model=transformer", f"model.path={folder}", "model.name=tiny"]
    words = ["test=file", f"test.path={tmp_path / 'own.yaml'}", "missing=error"]
    method = ["method=lpbs", "association=probability", "context=pairs"]
    status, _, err = cli("run", *model, *words, *method, f"paths.runs={tmp_path / 'runs'}", "tracking=none")
    assert status == 2
    assert err.startswith("harness: ") and sentence in err
    assert len(err.strip().splitlines()) == 1
