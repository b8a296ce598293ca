"""The forms of a time limit, against what sbatch(1) says that they mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.spec.scalars import minutes

TABLE = {
    "1": 1,
    "30": 30,
    "030": 30,
    "0:01": 1,  # Slurm rounds up to the minute
    "1:00": 1,
    "1:30": 2,
    "90:00": 90,
    "00:30:00": 30,
    "00:30:01": 31,
    "00:70:00": 70,
    "00:00:60": 1,
    "26:00:00": 1560,
    "190:20:30": 11421,
    "1-0": 1440,
    "1-12": 2160,
    "2-01:30": 2970,
    "0-00:00:01": 1,
    "7-00:00:00": 10080,
    "UNLIMITED": 0,
    "unlimited": 0,
    "INFINITE": 0,
    "30m": 30,
    "2h": 120,
    "1d": 1440,
    "1d12h": 2160,
    "1h30m": 90,
    "90s": 2,
    "60s": 1,
    "1d2h3m4s": 1564,
    "100m": 100,
}


@pytest.mark.parametrize("text", TABLE)
def test_each_form(text):
    assert minutes(text) == TABLE[text]


_WRONG = """
0|00:00:00|0-0|0s|-1|-5:00|+5|1.5h|1,5h|5 m|m|1m1h|1h1h|1w|2H|1:2:3:4|1-2-3|1-|-|:|1:|:30|1--2|1-2:|5min|½|٣
1e3|never|0x10|99999999999999|40000000|1-1:1:1:1|12:30m
"""
WRONG = ["", " ", "30\n", "9" * 5000, "9" * 5000 + "h", *_WRONG.strip().replace("\n", "|").split("|")]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_a_time_limit(text):
    with pytest.raises(ValueError, match=r"time|no limit"):
        minutes(text)


PART = st.integers(0, 5000)


@given(PART, PART, PART, PART)
def test_all_forms_agree(days, hours, mins, seconds):
    total = ((days * 24 + hours) * 60 + mins) * 60 + seconds
    if total:
        whole = (total + 59) // 60
        assert minutes(f"{days}-{hours}:{mins}:{seconds}") == whole
        assert minutes(f"{days}d{hours}h{mins}m{seconds}s") == whole
        assert minutes(f"{days * 24 + hours}:{mins}:{seconds}") == whole
