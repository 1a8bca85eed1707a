"""Pictures for a column: long names of schemes leave room for the axes."""

from __future__ import annotations

import warnings

import pytest

import sojourn as sj
from sojourn.view.plot import sheet

LONG = "red limit 2000p min 500p max 1000p max_p 0.1 w 0.002 wait"


@pytest.fixture(scope="module")
def long_names() -> sj.Results:
    return sj.compare("dumbbell", ["red preset shu2023", "codel"], replicates=1, sets=["duration=5 s", "warm_up=1 s"])


@pytest.mark.parametrize("width", [3.4, 5.0])
@pytest.mark.parametrize("name", ["delay_throughput", "flow_shares", "sojourn_cdf"])
def test_a_long_name_leaves_room_for_the_axes(long_names: sj.Results, name: str, width: float) -> None:
    with sheet(width), warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = getattr(long_names.plot, name)()
        figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts if text.get_text()]
    for text in texts:
        box = text.get_window_extent(figure.agg.get_renderer())
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width, text.get_text()


def test_a_name_of_a_row_has_two_lines_at_most() -> None:
    from sojourn.view.canvas import row_text

    assert row_text(LONG) == LONG
    with sheet(3.4):
        assert row_text(LONG) == "red limit 2000p min\n500p max 1000p max_p …"
        assert row_text("codel") == "codel"
