"""The front as a picture."""

from __future__ import annotations

import pytest

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"


def test_the_legend_stands_below_the_panels_and_the_same_front_is_the_same_file(tuned, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    from matplotlib.figure import Figure

    from scheduler_reader.report.tuning import plot

    front = tuned(LLAMA_8B + " --max-num-seqs 4")
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    figures: list[Figure] = []
    shown = Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda f, *a, **k: (figures.append(f), shown(f, *a, **k)))
        for path in (first, second):
            plot.write(path, "a load", front)
    assert first.read_bytes() == second.read_bytes()
    (legend,) = figures[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["now", "proposed"]
    lowest = min(axes.get_window_extent().y0 for axes in figures[0].axes)
    assert legend.get_window_extent().y1 <= lowest
