"""What is taken of a log's matches is what a search from beginning to end finds, however it is found."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hpclaunch.records import searching
from hpclaunch.records.barriers import shape_of

ONE = st.sampled_from(
    [*"aab1: =.", r"\n", *(rf"\{each}" for each in "sSdDwW"), "[a1]", "[^a]", r"[^\n]", r"[^\s1]", "[A-b]"]
)
AT = st.sampled_from([*"^$", *(rf"\{each}" for each in "bBAZ"), r"(?=\s)", "(?!a)", "(?<=a)", "(?<=:.)"])
TIMES = st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "{2}", "{0,2}"])
PIECE = st.tuples(ONE, TIMES).map("".join)
PART = st.one_of(
    PIECE,
    PIECE,
    AT,
    st.tuples(PIECE, PIECE, st.sampled_from(["", "?", "{2}"])).map(lambda p: f"(?:{p[0]}|{p[1]}){p[2]}"),
    st.lists(PIECE, min_size=1, max_size=2).map(lambda parts: f"(?i:{''.join(parts)})"),
    st.lists(PIECE, min_size=1, max_size=2).map(lambda parts: f"(?s:{''.join(parts)})"),
)
PATTERN = st.tuples(
    st.sampled_from(["", "", "", "(?i)", "(?s)"]),
    st.lists(PART, max_size=3).map("".join),
    st.lists(PART, max_size=3).map("".join),
    st.sampled_from(["", "?"]),
    st.lists(PART | st.just(r"(?:\1)"), max_size=2).map("".join),
).map(lambda p: f"{p[0]}{p[1]}({p[2]}){p[3]}{p[4]}")
LOG = st.lists(st.sampled_from([*"abAB1: =\n", "ab1", "a: 1\n"]), max_size=24).map("".join)


def simply(data: bytes, pattern: "re.Pattern[bytes]", take: str) -> str | None:
    texts = [match[1].decode() for match in pattern.finditer(data) if match[1] is not None]
    if take in ("first", "last"):
        return texts[0 if take == "first" else -1] if texts else None
    numbers = [text for text in texts if re.fullmatch(r"\s*[0-9]+\s*", text)]
    return (min if take == "min" else max)(numbers, key=float) if numbers else None


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=PATTERN, log=LOG, take=st.sampled_from(["last", "last", "first", "min", "max"]))
@example("a(.*)", "a\n1\nb", "last")
@example("(a+)", "aaa", "last")
@example("1(a?b)", "1b 1ab", "last")
@example("(ab*1)", "a1 a1", "last")
@example("(?i)(ab)", "aB AB", "last")
@example("(?i:ab)(1)", "AB1", "last")
@example("(aa)", "aaaaaaa\n", "last")
@example(r"a:\s*(1)", "a:\n\n1\na: 1", "last")
def test_what_is_taken_is_what_all_matches_have(
    monkeypatch: pytest.MonkeyPatch, text: str, log: str, take: str
) -> None:
    monkeypatch.setattr(searching, "WINDOW", 1)
    monkeypatch.setattr(searching, "_TIMES", 2)
    pattern = re.compile(text.encode(), re.MULTILINE)
    data = log.encode()
    shape, matches = shape_of(pattern), list(pattern.finditer(data))
    assert all(shape.literal in match[0] for match in matches)
    for place in {shape.before(data, at) for at in range(len(data) + 1)}:
        assert not any(match.start() < place < match.end() for match in matches)
    assert searching.taken(data, pattern, take) == simply(data, pattern, take)


@pytest.mark.parametrize(
    "text",
    [
        r"loss=([0-9.]+)",
        r"loss:\s*([\d.]+)",
        r"step.*loss:\s*([\d.]+)",
        r"^(?:\[.*\] )?acc\s+=\s+(\S+)$",
        "(?i)L=(.*)",
    ],
)
def test_the_last_of_a_long_log_is_found_at_its_end(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "2026-11-22 [7] step {0} loss: 0.{0} loss=0.{0} L=5\nacc = {0}\n"
    data = "".join(map(line.format, range(20_000))).encode()
    begun: list[int] = []
    texts = searching._texts
    monkeypatch.setattr(searching, "_texts", lambda *given: begun.append(given[2]) or texts(*given))
    pattern = re.compile(text.encode(), re.MULTILINE)
    assert searching.taken(data, pattern, "last") == simply(data, pattern, "last")
    (begin,) = begun
    assert begin > len(data) - 2 * searching.WINDOW
