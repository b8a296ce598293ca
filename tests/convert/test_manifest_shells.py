"""The text that a pod gives to its shell: where it stands among the shell's words, and what only waits."""

import pytest
from manifest_cases import converted, job, of_shell

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

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
        ("sleep 3600", True),
        ("./step && sleep 3600", False),
    ],
)
def test_a_pod_that_sleeps_for_ever_is_told(text: str, waits: bool) -> None:
    draft = converted(_POD.replace("COMMAND", f"[sh, -c, {text!r}]".replace("'", '"')))
    assert any(each.what == "a pod that sleeps" for each in draft.findings) == waits


@pytest.mark.parametrize(
    ("step", "carried"),
    [
        ('if [ "${RANK:-0}" = 0 ]; then rm -rf /scratch/cache; fi', False),
        ("until nc -z $MASTER_ADDR $MASTER_PORT; do sleep 1; done", False),
        ("mkdir -p /out/$JOB_COMPLETION_INDEX", False),
        ("mkdir -p /out/$HOSTNAME", True),
    ],
)
def test_a_step_that_uses_the_number_of_a_rank_is_not_carried(step: str, carried: bool) -> None:
    draft = of_shell(f"{step}\ntorchrun --nproc-per-node 4 fit.py", 4)
    assert any(key[0] == "setup" for key in draft.facts) == carried
    left = [each for each in draft.findings if "of which a step of the job is told nothing" in each.why]
    assert [each.kind for each in left] == ([] if carried else ["left"])
    assert all("setup" in each.todo for each in left)


_FOLDED = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: reg/fold:3
    command: [sh, -c]
    args:
    - >-
      date;

      seed=$(od -N1 /dev/random);
      mpirun
      -np 3
      ./fold;
      date
"""


def test_a_text_that_is_folded_tells_with_all_its_lines() -> None:
    draft = converted(_FOLDED)
    told = ("-np 3", "seed=$(od -N1 /dev/random)")
    places = [each.places[0] for each in draft.findings if each.what in told]
    places += draft.facts[("mpi",)].places
    assert list(map(str, places)) == ["job.yaml:10-17"] * 3


def test_a_defect_of_a_text_that_is_folded_has_all_its_lines() -> None:
    found = convert(classified({"job.yaml": _FOLDED}), Options({})).findings
    assert [str(each.places[0]) for each in found if each.kind == "defect"] == ["job.yaml:10-17"]


def test_a_text_that_stands_as_it_is_tells_with_the_line_of_each_word() -> None:
    draft = converted(
        _FOLDED.replace(">-", "|").replace("mpirun\n      -np", "mpirun -np").replace("3\n      ./", "3 ./")
    )
    assert str(draft.facts[("mpi",)].places[0]) == "job.yaml:14"


def _input(launcher: str) -> tuple[str, list[str]]:
    """The command, and what is said of the launcher's input."""
    draft = of_shell(launcher, 4)
    said = [each.what for each in draft.findings if each.what.startswith("its input") and each.kind == "left"]
    command = job(draft)["command"][0]
    return command if isinstance(command, str) else " ".join(command), said


@pytest.mark.parametrize(
    ("launcher", "command", "said"),
    [
        ("mpirun -np 4 ./melt < in.melt", "./melt", ["its input: in.melt"]),
        ("time mpirun -np 4 ./melt < in.melt", "./melt", ["its input: in.melt"]),
        ("mpirun -np 4 ./melt < in.melt | tee melt.log", "./melt", ["its input: in.melt"]),
        ("mpirun -np 4 ./melt $REST < in.melt > melt.log", "./melt $REST", ["its input: in.melt"]),
        ("mpirun -np 4 ./melt <<END\n1 2\nEND", "./melt", ["its input, a text in the script"]),
        ("mpirun -np 4 ./melt <<< '3'", "./melt", ["its input, a text in the script"]),
        ("torchrun --nproc-per-node 4 fit.py < in.txt", "python -u fit.py", ["its input: in.txt"]),
        ("for t in 1 2; do mpirun -np 4 ./melt < in.melt; done", "./melt", ["its input: in.melt"]),
        ("mpirun -np 4 ./melt < /dev/null", "./melt", []),
        ("./prepare < in.melt\nmpirun -np 4 ./melt", "./melt", []),
    ],
)
def test_what_a_launcher_reads_is_said_as_no_rank_reads_it(
    launcher: str, command: str, said: list[str]
) -> None:
    assert _input(launcher) == (command, said)


def test_a_shell_that_reads_its_script_is_asked_for() -> None:
    draft = of_shell("mpirun -np 4 bash < ranks.sh", 4)
    assert [each.key for each in draft.findings if each.kind == "question" and each.key] == ["command"]
    assert "ranks.sh" in next(each.why for each in draft.findings if each.key == "command")
