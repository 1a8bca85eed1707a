from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.base.units import as_text, from_ns, to_bit_s, to_ns


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (sj.ms(5), "5 ms"),
        (sj.mbit_s(1.5), "1.5 Mbit/s"),
        (sj.packets(100), "100 packets"),
        (sj.kib(64), "64 KiB"),
        (sj.us(1e-7), "0.0000001 us"),  # repr has an exponent, which no parser of units takes
        (sj.bit_s(10**12), "1000000000000 bit/s"),
    ],
)
def test_a_quantity_prints_its_number_in_full(quantity: sj.Quantity, text: str) -> None:
    assert str(quantity) == text


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_impossible_quantities_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        sj.ms(value)


@pytest.mark.parametrize("value", ["5", True, None])
def test_a_quantity_needs_a_number(value: object) -> None:
    with pytest.raises(TypeError, match="needs a number"):
        sj.ms(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [5, 5.0])
def test_a_bare_number_is_refused_and_the_message_says_what_to_write(value: float) -> None:
    with pytest.raises(TypeError, match=r"delay=5(\.0)? has no unit: write sj.ms\(5\)"):
        as_text("delay", value, "time")


def test_text_without_a_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="rate='10' has no unit"):
        as_text("rate", "10", "rate")


def test_a_quantity_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="delay=10 Mbit/s is a quantity of rate, not of time"):
        as_text("delay", sj.mbit_s(10), "time")


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        (timedelta(milliseconds=5), "5 ms"),
        (timedelta(minutes=2), "120 s"),
        (timedelta(microseconds=1500), "1500 us"),
        (timedelta(0), "0 s"),
    ],
)
def test_timedelta_is_a_time(delta: timedelta, text: str) -> None:
    assert as_text("delay", delta, "time") == text


def test_a_negative_timedelta_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        as_text("delay", timedelta(milliseconds=-1), "time")


def test_timedelta_is_no_rate() -> None:
    with pytest.raises(TypeError, match="not a quantity"):
        as_text("rate", timedelta(seconds=1), "rate")


@given(st.integers(0, 10**15))
def test_nanoseconds_survive_their_text(nanoseconds: int) -> None:
    assert to_ns("x", from_ns(nanoseconds)) == nanoseconds


@pytest.mark.parametrize("text", ["5 minutes", "1.5 ns", "ms", "1.2.3 s"])
def test_to_ns_refuses_what_is_no_whole_number_of_nanoseconds(text: str) -> None:
    with pytest.raises(ValueError, match="x="):
        to_ns("x", text)


@pytest.mark.parametrize("rate", [sj.mbit_s(30), "30 Mbit/s", "30Mbit/s", "30. Mbit/s", "30000 kbit/s"])
def test_rates_in_bit_s(rate: str) -> None:
    assert to_bit_s("x", rate) == 30e6


@pytest.mark.parametrize(
    "text", ["30 Mbit", "30 mbit/s", "Mbit/s", "1.2.3 Mbit/s", ". Mbit/s", "-1 Mbit/s", "\u0663 Mbit/s"]
)
def test_to_bit_s_refuses_what_is_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="x="):
        to_bit_s("x", text)
