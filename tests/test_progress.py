"""Progress bars in a terminal, which no other test has."""

from __future__ import annotations

import pytest

from harness.progress import Progress, bar, texts_bar


@pytest.mark.parametrize("display", [bar, texts_bar])
@pytest.mark.parametrize("total", [7, None])
def test_a_bar_is_shown_in_a_terminal_before_its_speed_is_known(
    display: Progress, total: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")

    with display("reading", total) as advance:
        advance(3)

    assert "reading" in capsys.readouterr().err
