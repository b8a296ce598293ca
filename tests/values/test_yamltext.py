"""Values in YAML: what every reader gets back, and how it looks to people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml_readers import READERS

from hpclaunch.values import yamltext

each_reader = pytest.mark.parametrize("reader", READERS)

# Halves of a surrogate pair and NUL are no characters that YAML has.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NASTY = st.text(
    st.sampled_from("\n\n  \t\r:#-'\"\\|>%@&*!?{}[],=~\x85\u2028\ufeff\x7f\U0001f680\u00a0xny0.1_")
)
TEXTS = ANY_TEXT | NASTY

# What a reader of one version or the other takes for something else than text, or for a part of YAML itself.
NOT_PLAIN = (
    *("", " ", "~", "null", "Null", "NULL", "yes", "No", "on", "OFF", "y", "N", "true", "False", "TRUE"),
    *(
        "1",
        "-1",
        "+1",
        "1.10",
        "1e3",
        ".5",
        "-.5",
        "1_000",
        "0o17",
        "017",
        "0x1F",
        "0b101",
        "1:30",
        "190:20:30",
    ),
    *(".inf", "-.inf", "+.INF", ".nan", "inf", "-inf", "-Infinity", "nan", "NaN", "infinity"),
    *(
        "2026-11-21",
        "2026-11-21T08:40:13Z",
        "<<",
        "=",
        "-",
        "--",
        "---",
        "...",
        "-->",
        "?",
        ":",
        "? a",
        "- a",
    ),
    *("a: b", "a:", "a #b", "#a", " a", "a ", "\ta", "a\t", "a\tb", "!tag", "&a", "*a", "%a", "@a", "`a`"),
    *("[a]", "{a: 1}", "a, b", "|", ">", "|-", "'", '"', "it's", 'say "hi"', "back\\slash", "'\"", "\\n"),
    *("a\n", "\na", "a\nb", "a\n\n", "\n", "\n\n", "a\n b", " a\nb", "\ta\nb", "a\n\tb", "a \nb", "a\n  \nb"),
    *(
        "a\r\nb",
        "\r",
        "a\x85b",
        "a\u2028b",
        "a\u2029b",
        "\x7f",
        "\x1b[0m",
        "\ufeff",
        "a\ufeff",
        "\u00a0",
        "\u202e",
    ),
    *(
        "\U0001f680",
        "\U0010ffff",
        "\ufffe",
        "\uffff",
        "é",
        "---\na: b\n...\n",
        "# a\n",
        "a\n# b\n",
        "$(X) $$ ${x}",
    ),
)


@each_reader
@pytest.mark.parametrize("text", NOT_PLAIN)
def test_text_stays_text(text: str, reader: str) -> None:
    document = yamltext.finished(f"a:\n- {yamltext.value(text)}\n- end\n")
    assert READERS[reader](document) == {"a": [text, "end"]}


@each_reader
@pytest.mark.parametrize("text", [text for text in NOT_PLAIN if "\n" not in text])
def test_keys_stay_text(text: str, reader: str) -> None:
    assert READERS[reader](f"{yamltext.value(text)}: 1\n") == {text: 1}


@given(TEXTS, TEXTS, st.integers(0, 3))
def test_readers_get_back_what_was_written(text: str, other: str, depth: int) -> None:
    """Wherever it stands: under a key, in a list, as a key, first in an entry or last, and however deep."""
    key = text.replace("\n", "")[:60]
    document = f"""\
list:
- {yamltext.value(text)}
- {yamltext.beside(yamltext.value(other), key)}
- [{yamltext.in_flow(text)}, {yamltext.in_flow(other)}]  # a comment
{yamltext.value(key)}: 1
deep:
  - first: {yamltext.value(other)}
    value: {yamltext.value(text)}
  # a comment
  - value: {yamltext.value(text)}
below:
  {yamltext.value("a " + key)}: {yamltext.value(other)}
"""
    expected: dict[str, object] = {
        "list": [text, other, [text, other]],
        key: 1,
        "deep": [{"first": other, "value": text}, {"value": text}],
        "below": {"a " + key: other},
    }
    for _ in range(depth):
        document = f"down:\n{yamltext.under(document, 2)}\n"
        expected = {"down": expected}
    for reader in READERS.values():
        assert reader(yamltext.finished(document)) == expected


@given(TEXTS)
def test_nothing_stands_in_the_text_that_nobody_sees(text: str) -> None:
    written = yamltext.finished(f"- {yamltext.value(text)}")
    assert written.replace("\n", "").replace("\t", "").isprintable()
    assert all(line == line.rstrip() for line in written.split("\n"))


@given(TEXTS, TEXTS)
def test_a_comment_is_one_line_and_hides_nothing(above: str, beside: str) -> None:
    document = f"# {yamltext.comment(above)}\na: x # {yamltext.comment(beside)}\nb: 1\n"
    for reader in READERS.values():
        assert reader(document) == {"a": "x", "b": 1}


@pytest.mark.parametrize("text", ["\0", "a\0b", "a\n\0", "\ud800", "a\udcff\n"])
def test_what_is_no_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no character of a text in YAML"):
        yamltext.value(text)


@pytest.mark.parametrize(
    "text",
    ["nvcr.io/nvidia/mxnet:21.09-py3", "/data", "--hostfile", "-np", "--", "=./run.sh", "LR=0.1", "a,b"],
)
def test_a_plain_word_has_no_quotes(text: str) -> None:
    assert yamltext.value(text) == text


@pytest.mark.parametrize("number", [0, 1, -1, 10**12])
@each_reader
def test_numbers_and_booleans_are_such(number: int, reader: str) -> None:
    document = f"[{yamltext.value(number)}, {yamltext.value(True)}, {yamltext.value(False)}]"
    assert READERS[reader](document) == [number, True, False]


def test_a_text_of_lines_is_a_block_that_reads_as_it_is() -> None:
    script, two, moved = map(yamltext.value, ("if x; then\n\n  y\nfi\n", "a\nb", "  a\nb\n\n"))
    document = f"- value: {script}\n  other: {two}\n- {moved}\n"
    assert yamltext.finished(yamltext.under(document, 2)).split("\n") == [
        *("  - value: |", "      if x; then", "", "        y", "      fi"),
        *("    other: |-", "      a", "      b"),
        *("  - |2+", "      a", "    b", ""),
    ]
