"""Amounts of the Kubernetes API, beside the reading of its own client."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from hpclaunch.values import quantity

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
NUMBERS = st.from_regex(r"[+-]?[0-9]{1,9}(\.[0-9]{0,6})?|\.[0-9]{1,6}", fullmatch=True)


@given(NUMBERS, st.sampled_from(SUFFIXES))
@example("10000.000001", "Ei")
def test_as_the_clients_library_reads_it(number: str, suffix: str) -> None:
    with localcontext() as context:
        context.prec = 60  # it multiplies by a context of 28 digits, and some of these have more
        exact = parse_quantity(number + suffix) * 10**9
    read = quantity.nano(number + suffix)
    assert 0 <= (read - exact) * (-1 if number.startswith("-") else 1) < 1


@given(NUMBERS, st.integers(-9, 12), st.sampled_from("eE"))
def test_exponents(number: str, exponent: int, letter: str) -> None:
    exact = Decimal(number) * Decimal(10) ** exponent * 10**9
    assert abs(quantity.nano(f"{number}{letter}{exponent}") - exact) < 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Gi",
        "1GB",
        "1 Gi",
        "1gi",
        "0x10",
        "1.2.3",
        "--1",
        "1e",
        "1e+-2",
        "1e99",
        "\u0661",
        "1K",
        "1e1Gi",
        "9" * 60,
    ],
)
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount"):
        quantity.nano(text)


@given(st.integers(1, 2**60))
def test_bytes_come_back(amount: int) -> None:
    assert quantity.whole(quantity.of_bytes(amount)) == amount


def test_bytes_have_no_parts() -> None:
    assert (quantity.whole("1.5Ki"), quantity.of_bytes(2**31), quantity.of_bytes(1000)) == (
        1536,
        "2Gi",
        "1000",
    )
    with pytest.raises(ValueError, match="m stands for thousandths"):
        quantity.whole("960m")
