"""Texts of hpclaunch's own in a script reach a shell whole, or the script is not made."""

import subprocess

import pytest

from hpclaunch.render import quote

# The longest argument that Linux passes on, without the 0 at its end.
LONGEST = "echo whole #" + "é" * 65_529 + "\n"


def test_the_longest_text_arrives_whole_and_can_be_run() -> None:
    assert len(LONGEST.encode()) == 131_071
    script = f'{quote.reads("text", LONGEST)}\nprintf %s "$text"; /bin/sh -c "$text"\n'
    done = subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True)
    assert (done.stdout.decode(), done.stderr) == (LONGEST + "whole\n", b"")


@pytest.mark.parametrize("text", ["#" + LONGEST, "no end of line", "first\nWRAPPER\nlast\n", "WRAPPER\n"])
def test_a_text_that_would_be_cut_is_not_rendered(text: str) -> None:
    with pytest.raises(AssertionError):
        quote.reads("text", text)
