"""Standard files that are closed, or whose disk is full, and a folder that is gone: the exit status, and what
was done, stay true."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\ncommand: echo by {name}\nnodes: 1\n")
    return tmp_path


def typed(folder: Path, line: str) -> "subprocess.CompletedProcess[str]":
    """What a person's shell makes of `line`, where H is hpclaunch."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "HPCLAUNCH_HOME": str(folder / "home")}
    program = f'H() {{ "{sys.executable}" -m hpclaunch "$@"; }}; {line}'
    return subprocess.run(
        ["sh", "-c", program], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("where", [">&-", "> /dev/full"])
def test_each_id_of_several_jobs_is_told_where_standard_output_takes_none(folder: Path, where: str) -> None:
    done = typed(folder, f"H submit one.yaml two.yaml --local {where}")
    listed = typed(folder, "H list").stdout.splitlines()[1:]
    ids = {line.split()[0] for line in listed}
    assert (done.returncode, len(ids)) == (0, 2)
    told = {line.split("its id is ")[1].split(";")[0] for line in done.stderr.splitlines()}
    assert told == ids


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("H logs 1 >&-", 1),
        ("H logs -f 1 >&-", 125),  # as of all that ends a following before the job
        ("H list >&-", 1),
        ("H submit one.yaml --local --dry-run >&-", 1),
        ("H submit one.yaml --local --wait --follow 2>&- <&-", 0),
        ("H submit one.yaml --local --wait >&- 2>&- <&-", 0),
        ("H exec 1 -- true <&-", 2),  # it does not run any more
        ("H check none.yaml 2> /dev/full", 2),
        ("H wait 1 2> /dev/full", 0),
    ],
)
def test_standard_files_that_are_closed_or_full(folder: Path, line: str, status: int) -> None:
    assert typed(folder, "H submit one.yaml --local --wait").returncode == 0
    done = typed(folder, line)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_program_started_here_takes_no_file_for_its_closed_output(folder: Path) -> None:
    """The first file that is opened would have the number of the standard output."""
    program = (
        "import os, sys; from hpclaunch.cli.standing_in import open_closed; open_closed(); "
        "descriptor = os.open('opened', os.O_CREAT | os.O_RDWR); "
        "os.system('echo lost'); print(descriptor, file=sys.stderr)"
    )
    done = typed(folder, f'"{sys.executable}" -c "{program}" >&-')
    assert int(done.stderr.splitlines()[-1]) > 2
    assert (folder / "opened").read_text() == ""


@pytest.mark.parametrize("words", ["submit ../one.yaml --local", "wait 1 --junit end.xml"])
def test_a_folder_that_is_gone_is_named_as_what_is_wrong(folder: Path, words: str) -> None:
    assert typed(folder, "H submit one.yaml --local --wait").returncode == 0
    done = typed(folder, f"mkdir gone; cd gone; rmdir ../gone; H {words}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hpclaunch: the folder in which this was typed is gone")
    assert done.stderr.count("\n") == 1
