"""Files take their place whole, with the permissions that the umask gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.files import replacing
from harness.result import Result, ResultStore


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_a_result_is_readable_by_those_whom_the_umask_lets_in(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        store = ResultStore(tmp_path)
        store.write(Result("f" * 64, "finished", {}, {}))
    finally:
        os.umask(before)
    assert (store.folder("f" * 64) / "result.json").stat().st_mode & 0o777 == 0o640


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="cut off"), replacing(path) as file:
        file.write("half of the ne")
        raise ValueError("cut off")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
