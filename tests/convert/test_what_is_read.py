"""What a script's steps and its run read: the programs, run by bash in the script, and by /bin/sh as the job
has them, get the same words and the same text."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\n"$@"\n'
_PROGRAM = '#!/bin/bash\n{ printf "%s " "${0##*/}" "$@"; cat; echo; } >> "$SHOWN"\n'
_STEP = "srun --mpi=none --ntasks-per-node=1 ./step"
_RUN = "srun --mpi=none ./train"


def _programs(folder: Path) -> dict[str, str]:
    for name, text in (("srun", _SRUN), ("step", _PROGRAM), ("train", _PROGRAM)):
        Path(folder, name).write_text(text)
        Path(folder, name).chmod(stat.S_IRWXU)
    Path(folder, "in.txt").write_text("of the file\n")
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SHOWN": str(folder / "shown"), "X": "x y"}


def _shown(folder: Path, *commands: list[str]) -> str:
    environment = _programs(folder)
    for words in commands:
        subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=60)
    text = Path(folder, "shown").read_text()
    Path(folder, "shown").unlink()
    return text


@pytest.mark.parametrize(
    "lines",
    [
        f"{_STEP} < in.txt\n{_RUN}",
        f"{_STEP} a 'b c' 0< ./in.txt\n{_RUN} -x",
        f"{{ {_STEP}; }} < in.txt\n{_RUN}",
        f"{_STEP} <<'EOF'\nit's $X \\n\n\n%s\nEOF\n{_RUN}",
        f'{_STEP} <<< "it\'s"\n{_RUN}',
        f"exec < in.txt\n{_RUN}",
        f"{_STEP} < /dev/null\n{_RUN} < in.txt",
        f"echo a | {_STEP}\nprintf 'b\\nc' | {_RUN} d",
        f"{_RUN} <<EOF\nabc\nEOF",
        f"{_STEP} < in.txt <<< b\n{_RUN} <<< b < in.txt",
        f"( {_RUN} ) < in.txt",
    ],
)
def test_steps_and_ranks_read_what_they_read_before(lines: str, tmp_path: Path) -> None:
    found = convert(classified({"run.sub": _HEAD + lines + "\n"}), Options({}))
    job = script_cases.loaded(found.job)
    runs = [*(each["run"] for each in job.get("setup", ())), job["command"]]
    words = [run if isinstance(run, list) else ["/bin/sh", "-c", run] for run in runs]
    assert _shown(tmp_path, *words) == _shown(tmp_path, ["bash", "-c", _HEAD + lines])
    assert not [each for each in found.findings if each.kind == "left" and "exec" not in each.what]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (f"./make | {_STEP}\n{_RUN}", "./make"),
        (f"{_STEP} < <(./make)\n{_RUN}", "./make"),
        (f"{_STEP} <&3\n{_RUN}", "<&3"),
        (f'{_STEP} < "$(./make)"\n{_RUN}', "./make"),
        (f"./make | {_RUN}", "./make"),
        (f"{_RUN} < $LIST", "LIST"),
        (f"{_RUN} --container-image=a/b:c < in.txt", "in.txt"),
        (f"{_STEP} --container-image=a/b:c < in.txt\n{_RUN} --container-image=a/b:c", "in.txt"),
        ("mpirun -np 16 -npernode 8 ./train < in.txt", "in.txt"),
    ],
)
def test_an_input_that_a_job_cannot_have_is_said_by_name(lines: str, named: str) -> None:
    lines = lines.replace("./step --container-image=a/b:c", "--container-image=a/b:c ./step")
    lines = lines.replace("./train --container-image=a/b:c", "--container-image=a/b:c ./train")
    found = convert(classified({"run.sub": _HEAD + lines + "\n"}), Options({}))
    assert "setup" not in script_cases.loaded(found.job)
    left = [each for each in found.findings if each.kind == "left" and named in f"{each.what} {each.why}"]
    assert [each for each in left if "read" in each.why], found.findings
    of_step = [each for each in left if named == "in.txt" and "container-image" in each.what]
    assert all("what it reads on the host" in each.why for each in of_step)


def test_a_file_of_the_host_that_a_step_in_a_container_writes_is_left() -> None:
    lines = "srun --mpi=none -N1 -n1 --container-image=a/b:c ./gen > list.txt\n"
    text = _HEAD + lines + "srun --mpi=none --container-image=a/b:c ./train\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert "setup" not in script_cases.loaded(found.job)
    assert any(each.kind == "left" and "list.txt" in each.why for each in found.findings)


@pytest.mark.parametrize(("first", "said"), [("set -e\n", True), ("", False), ("set -e\nset +e\n", False)])
def test_a_step_that_only_a_good_run_had_is_said_to_be_done_in_any_case(first: str, said: bool) -> None:
    text = f"{_HEAD}{first}{_RUN}\nsrun --mpi=none -N1 -n1 ./done\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert [each["run"] for each in script_cases.loaded(found.job)["after"]] == [["./done"]]
    line = text.count("\n")
    its = [each.why for each in found.findings if line in [place.line for place in each.places]]
    assert any("in any case" in why for why in its) == said
