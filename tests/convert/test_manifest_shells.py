"""The text that a pod gives to its shell: where it stands among the shell's words, and what only waits."""

import pytest
from manifest_cases import converted, job

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: c, image: "reg/x:1", command: COMMAND, resources: {limits: {nvidia.com/gpu: 4}}}
"""


@pytest.mark.parametrize(
    "options", ["-c", "-c, --", "-ec", "-c, -e", "-c, -e, +x, --", "--norc, -c, --", "-e, -c"]
)
def test_the_text_stands_behind_the_options_of_the_shell(options: str) -> None:
    found = job(
        converted(_POD.replace("COMMAND", f"[bash, {options}, 'torchrun --nproc-per-node 4 fit.py']"))
    )
    assert found["command"][0] == ["python", "-u", "fit.py"]
    assert found["ranks_per_node"][0] == 4


@pytest.mark.parametrize("command", ["[bash, -c]", "[bash, -c, --]", "[bash, -c, -e]"])
def test_a_shell_without_a_text_is_kept_as_it_is(command: str) -> None:
    found = job(converted(_POD.replace("COMMAND", command)))
    assert found["command"][0] == command.strip("[]").split(", ")


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("while true; do sleep 30; done;", True),
        ("date; while :; do sleep 1h; done", True),
        ("while true\ndo\n  sleep 5\ndone", True),
        ("while true; do ./step; sleep 30; done", False),
        ("while true; do sleep 30; done & ./serve", False),
        ("sleep 30", False),
    ],
)
def test_a_pod_that_sleeps_for_ever_is_told(text: str, waits: bool) -> None:
    draft = converted(_POD.replace("COMMAND", f"[sh, -c, {text!r}]".replace("'", '"')))
    assert any(each.what == "a pod that sleeps" for each in draft.findings) == waits
