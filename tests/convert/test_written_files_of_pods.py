"""What a pod's shell does beside its launcher: a step of the job, or said."""

import pytest
from manifest_cases import job, of_shell


def _converted(text: str, options: str = ""):
    return of_shell(f"{text}\ntorchrun --nproc_per_node=8 {options}/tmp/t.py", 8)


def _steps(draft) -> list[str]:
    return [value["run"] for key, (value, _) in job(draft).items() if key.startswith("setup.")]


@pytest.mark.parametrize(
    "text", ["cat > /tmp/t.py <<EOF\nprint(1)\nEOF", "printf 'print(1)' > /tmp/t.py", "date >> /tmp/began"]
)
def test_what_writes_a_file_is_a_step(text: str) -> None:
    assert _steps(_converted(text)) == [text]


@pytest.mark.parametrize("text", ["echo a", "echo a > /dev/stderr", "date 2>&1", "cat /etc/motd"])
def test_what_only_says_something_is_none(text: str) -> None:
    assert _steps(_converted(text)) == []


def test_a_step_has_a_value_of_the_text_that_it_uses() -> None:
    assert _steps(_converted("OUT='/tmp/a b'\nmkdir -p \"$OUT\"")) == ["OUT='/tmp/a b'; mkdir -p \"$OUT\""]


def test_a_value_that_the_job_has_is_not_set_again() -> None:
    assert _steps(_converted("OUT=/tmp/a\nmkdir -p $OUT", "--out $OUT ")) == ["mkdir -p $OUT"]
    assert _steps(_converted("export OUT=/tmp/a\nmkdir -p $OUT")) == ["mkdir -p $OUT"]


@pytest.mark.parametrize("made", ["OUT=$(mktemp -d)", "read -r OUT < /etc/folder"])
def test_a_step_that_uses_what_is_made_in_the_pod_is_said(made: str) -> None:
    draft = _converted(f"{made}\nmkdir -p $OUT")
    assert _steps(draft) == []
    said = next(each for each in draft.findings if each.what == "mkdir -p $OUT")
    assert (said.kind, "it uses OUT" in said.why) == ("left", True)
    assert any(each.kind == "left" and each.what == made for each in draft.findings)


def test_a_loop_has_its_own_variable() -> None:
    text = "for i in 1 2; do echo $i > /tmp/$i; done"
    assert _steps(_converted(text)) == [text]


@pytest.mark.parametrize("end", [" || exit 1", " && echo good || echo bad", " || { echo bad; exit 3; }"])
def test_what_is_said_of_the_runs_end_hides_no_launcher(end: str) -> None:
    draft = of_shell(f"torchrun --nproc_per_node=8 t.py{end}", 8)
    found = job(draft)
    assert (found["ranks_per_node"][0], found["command"][0]) == (8, ["python", "-u", "t.py"])
    said = [each.what for each in draft.findings if each.kind == "without effect"]
    assert ("echo bad" in said) == end.endswith("echo bad")


@pytest.mark.parametrize("end", [" || true", " || ./other"])
def test_what_goes_on_after_a_run_that_failed_is_asked_about(end: str) -> None:
    draft = of_shell(f"torchrun --nproc_per_node=8 t.py{end}", 8)
    assert draft.facts[("ranks_per_node",)].is_open
