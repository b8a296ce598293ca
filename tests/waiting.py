"""Waiting in tests: on a condition, with an end that even a machine under much load does not come to."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], limit_s: float = 240.0) -> None:
    """Returns when the condition holds; asks for it every tenth of a second.

    Raises AssertionError where it does not hold after `limit_s` seconds.
    """
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"in vain for {limit_s:.0f} s"
        time.sleep(0.1)
