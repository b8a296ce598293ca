"""Amounts as the Kubernetes API writes them: 960Gi, 1500m, 2e3.

The grammar is that of k8s.io/apimachinery/pkg/api/resource (quantity.go): a decimal number, then a binary
suffix, a decimal one, or an exponent.
"""

_BINARY = {f"{letter}i": 1 << (10 * power) for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NANO = 10**9
_LONGEST = 40  # as a text: no amount of a machine is longer
_LARGEST_EXPONENT = 18


def nano(text: str) -> int:
    """The amount in billionths of one, the smallest part that the API keeps, rounded up as it does.

    Raises ValueError for what is not an amount.
    """
    number = text[1:] if text[:1] in ("-", "+") else text
    suffix = number.lstrip("0123456789.")
    whole, _, part = number[: len(number) - len(suffix)].partition(".")
    if len(text) > _LONGEST or "." in part or not whole + part:
        raise _error(text)
    scale, power = _scale(text, suffix)
    shift = power + 9 - len(part)
    amount = int(whole + part) * scale
    power_of_ten: int = 10 ** abs(shift)
    amount = amount * power_of_ten if shift >= 0 else -(-amount // power_of_ten)
    return -amount if text[0] == "-" else amount


def whole(text: str) -> int:
    """An amount without a fraction, such as bytes. Raises ValueError for another."""
    number, rest = divmod(nano(text), _NANO)
    if rest:
        raise ValueError(f"{text!r} is not a whole number: m stands for thousandths, Mi for 1048576")
    return number


def is_count(text: str) -> bool:
    """Whether the amount is one of things such as GPUs: digits, and not more than any machine has."""
    return text.isascii() and text.isdigit() and len(text) < 10


def of_bytes(amount: int) -> str:
    """Bytes with the largest binary suffix that is exact: 2147483648 is "2Gi"."""
    for suffix, size in reversed(_BINARY.items()):
        if amount and amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


def _scale(text: str, suffix: str) -> tuple[int, int]:
    """What a suffix stands for: (factor, power of ten)."""
    if suffix in _BINARY:
        return _BINARY[suffix], 0
    if suffix in _DECIMAL:
        return 1, _DECIMAL[suffix]
    digits = suffix[1:].lstrip("+-")
    sound = suffix[0] in "eE" and len(suffix) - len(digits) <= 2 and digits.isascii() and digits.isdigit()
    if not sound or len(digits) > 2 or int(digits) > _LARGEST_EXPONENT:
        raise _error(text)
    return 1, int(suffix[1:])


def _error(text: str) -> ValueError:
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return ValueError(f"{short!r} is not an amount such as 960Gi, 1500M or 2 (Ki, Mi, Gi, Ti; k, M, G, T)")
