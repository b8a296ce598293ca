"""`hpclaunch convert`: what goes where, what is refused, and with which exit status."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hpclaunch.spec.read import parse_job, read_job

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --time=30
#SBATCH --account=vision
srun --ntasks-per-node=8 --mpi=pmix --container-image=nvcr.io#nvidia/mxnet:21.09-py3 python train.py $LR
"""


def convert(folder: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "hpclaunch", "convert", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.sub").write_text(SCRIPT)
    return tmp_path


def complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """The one line of an error."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    return line


def test_the_job_goes_to_standard_output_and_the_report_beside_it(folder: Path) -> None:
    done = convert(folder, "run.sub", "--env", "LR=0.1")
    assert done.returncode == 0, done.stderr
    job = parse_job(done.stdout.decode(), "job.yaml", str(folder)).value
    assert (job.name, job.nodes, job.command) == ("train", 2, ("python", "train.py", "0.1"))
    assert b"run.sub:3" in done.stderr


def test_with_a_file_the_report_is_the_output(folder: Path) -> None:
    done = convert(folder, "run.sub", "--env", "LR=0.1", "-o", "job.yaml")
    assert (done.returncode, done.stderr) == (0, b"")
    assert read_job(folder / "job.yaml").value.nodes == 2
    before = (folder / "job.yaml").read_bytes()
    assert "job.yaml is there already" in complaint(convert(folder, "run.sub", "-o", "job.yaml"))
    assert (folder / "job.yaml").read_bytes() == before
    assert convert(folder, "run.sub", "--env", "LR=0.2", "-o", "job.yaml", "--force").returncode == 0
    assert read_job(folder / "job.yaml").value.command[-1] == "0.2"


def test_an_input_is_never_written_over(folder: Path) -> None:
    (folder / "link").symlink_to("run.sub")
    for words in (
        ("-o", "run.sub", "--force"),
        ("-o", "link", "--force"),
        ("-o", "no_folder/../run.sub", "--force"),
        ("--report", "run.sub"),
        ("--report", "no_folder/../run.sub"),
    ):
        assert "is one of the files that are read" in complaint(convert(folder, "run.sub", *words))
    assert "cannot be the job file and the report" in complaint(
        convert(folder, "run.sub", "-o", "x", "--report", "./x")
    )
    assert (folder / "run.sub").read_text() == SCRIPT


@pytest.mark.parametrize("option", ["--site", "--node-type"])
@pytest.mark.parametrize("output", ["-o", "--report"])
def test_the_file_of_a_site_or_a_node_type_is_never_written_over(
    folder: Path, option: str, output: str
) -> None:
    (folder / "facts.yaml").write_text("version: 1\n")
    done = convert(folder, "run.sub", option, "./facts.yaml", output, "facts.yaml", "--force")
    assert "is one of the files that are read" in complaint(done)
    assert (folder / "facts.yaml").read_text() == "version: 1\n"


def test_nothing_else_is_written_over_without_force(folder: Path) -> None:
    (folder / "kept").write_text("kept")
    for words in (("-o", "kept"), ("--report", "kept"), ("-o", "no_folder/../kept")):
        assert "is there already: give --force" in complaint(convert(folder, "run.sub", *words))
    assert (folder / "kept").read_text() == "kept"
    assert convert(folder, "run.sub", "--report", "kept", "--force").returncode == 0
    assert (folder / "kept").read_text() != "kept"


def test_an_open_question_stands_in_a_job_file_that_check_refuses(folder: Path) -> None:
    (folder / "run.sub").write_text(SCRIPT.replace("nvcr.io#nvidia/mxnet:21.09-py3", "$CONT"))
    done = convert(folder, "run.sub", "-o", "job.yaml")
    assert done.returncode == 0
    assert b"the job file is not complete" in done.stdout
    assert json.loads(convert(folder, "run.sub", "--json").stdout)["is_complete"] is False
    refused = subprocess.run(
        [sys.executable, "-m", "hpclaunch", "check", str(folder / "job.yaml")], capture_output=True, cwd=ROOT
    )
    assert refused.returncode == 2
    assert b"image is still open" in refused.stderr
    answered = read_job(folder / "job.yaml", ["image=a/b:1"]).value
    assert answered.image == "a/b:1"


def test_lines_have_base_names_where_those_are_clear(folder: Path) -> None:
    for name in ("old", "new"):
        (folder / name).mkdir()
        (folder / name / "config.sh").write_text("export A=1\n")
    (folder / "old" / "run.sub").write_text(SCRIPT)
    done = convert(folder, "old/config.sh", "old/run.sub")
    assert b"nodes: 2  # run.sub:3\n" in done.stdout
    assert b"old/run.sub:" not in done.stdout + done.stderr
    assert b"Files: old/config.sh, old/run.sub." in done.stderr
    found = json.loads(convert(folder, "old/config.sh", "old/run.sub", "--json").stdout)
    assert {place["file"] for each in found["findings"] for place in each["places"]} >= {"old/run.sub"}
    done = convert(folder, "old/config.sh", "new/config.sh", "old/run.sub", "--env", "B=2")
    assert b"A: '1'  # old/config.sh:1" in done.stdout or b'A: "1"  # new/config.sh:1' in done.stdout
    assert b"run.sub:3" in done.stderr


def test_what_is_about_the_user_is_yaml_to_paste(folder: Path) -> None:
    (folder / "run.sub").write_text(SCRIPT.replace("--account=vision", "--account=007"))
    done = convert(folder, "run.sub", "-o", "job.yaml")
    _, _, pasted = done.stdout.decode().partition("For the job file, to paste\n")
    with (folder / "job.yaml").open("a") as job:
        job.write(textwrap.dedent(pasted))
    assert read_job(folder / "job.yaml").value.sites["SITE"].account == "007"


@pytest.mark.parametrize("written", ["a `b`", "``", "`` ` ```x", "<b>|"])
def test_what_is_written_stands_in_markdown_as_it_is(folder: Path, written: str) -> None:
    (folder / "run.sub").write_text(f"{SCRIPT}frobnicate '{written}'\n")
    assert convert(folder, "run.sub", "-o", "job.yaml", "--report", "r.md").returncode == 0
    (line,) = [line for line in (folder / "r.md").read_text().splitlines() if "frobnicate" in line]
    spans = re.findall(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", line)  # CommonMark 0.31, 6.1
    assert spans[-1][1].strip() == f"frobnicate '{written}'"


def test_without_its_report_there_is_no_job_file_and_nothing_is_printed(folder: Path) -> None:
    complaint(convert(folder, "run.sub", "-o", "job.yaml", "--report", "missing/r.md"))
    assert not (folder / "job.yaml").exists()
    complaint(convert(folder, "run.sub", "--report", "missing/r.md"))


@pytest.mark.parametrize("option", ["--site", "--node-type"])
def test_an_empty_name_is_none(folder: Path, option: str) -> None:
    complaint(convert(folder, "run.sub", option, ""))


def test_what_no_family_knows_is_refused_with_what_is_known(folder: Path) -> None:
    (folder / "run.sub").write_text("#!/bin/bash\nexport A=1\nmake all\n")
    done = convert(folder, "run.sub", "-o", "job.yaml")
    assert done.returncode == 1
    assert not (folder / "job.yaml").exists()
    assert b"make all" in done.stdout


def test_the_report_as_json_and_as_markdown(folder: Path) -> None:
    done = convert(folder, "run.sub", "--json")
    found = json.loads(done.stdout)
    assert parse_job(found["job"], "job.yaml", "/").value.nodes == 2
    assert found["is_complete"] is True
    assert all(each["places"] for each in found["findings"])
    for name in ("r.json", "r.md", "r.txt"):
        assert convert(folder, "run.sub", "-o", f"{name}.yaml", "--report", name).returncode == 0
    assert json.loads((folder / "r.json").read_text()) == found
    assert (folder / "r.md").read_text().startswith("# hpclaunch convert\n")
    assert (folder / "r.txt").read_text().startswith("Read as: ")


def test_standard_input_and_a_file_given_twice(folder: Path) -> None:
    done = convert(folder, "-", stdin=SCRIPT.encode())
    assert parse_job(done.stdout.decode(), "job.yaml", "/").value.nodes == 2
    assert b"standard input:3" in done.stderr
    (folder / "link").symlink_to("run.sub")
    done = convert(folder, "run.sub", "link")
    assert parse_job(done.stdout.decode(), "job.yaml", "/").value.nodes == 2


@pytest.mark.parametrize(("ends", "said"), [("\r\n", b"CR LF"), ("\r", b"CR alone")])
def test_line_ends_of_other_systems_and_a_byte_order_mark(folder: Path, ends: str, said: bytes) -> None:
    (folder / "run.sub").write_bytes(b"\xef\xbb\xbf" + SCRIPT.replace("\n", ends).encode())
    done = convert(folder, "run.sub")
    job = parse_job(done.stdout.decode(), "job.yaml", "/").value
    assert (job.name, job.nodes) == ("train", 2)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("missing", None, "no such launcher file"),
        ("utf16", "srun x".encode("utf-16"), "UTF-16"),
        ("nul", b"srun\0x", "NUL"),
        ("latin", b"srun \xe9", "not UTF-8"),
        ("empty", b" \n", "there is nothing in"),
        ("large", b"#" * (1 << 22), "too large"),
        ("job.yaml", b"version: 1\nname: a\ncommand: [x]\n", "a job file of hpclaunch already"),
        ("hosts", b"n1 slots=8\nn2 slots=8\n", "a list of hosts"),
        ("a.py", b"#!/usr/bin/env python\nprint()\n", "a program in Python: it starts nothing"),
        ("a.py", b"# sbatch --wrap 'mpirun a.py'\nimport mpi4py\n", "a program in Python: it starts nothing"),
        ("a.py", b'T = """\n#SBATCH -N 1\n{run}"""\n', "convert the script that it writes"),
        ("a.py", b"import os\nos.system(f'sbatch {name}')\n", "convert the script that it writes"),
    ],
)
def test_files_that_are_no_input(folder: Path, name: str, data: bytes | None, said: str) -> None:
    if data is not None:
        (folder / name).write_bytes(data)
    assert said in complaint(convert(folder, name))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--env", "DGXNNODES"), "is not KEY=VALUE"),
        (("--env", "1x=2"), "not the name of a variable"),
        (("--node-type", "dgx-1000"), "no node type is named"),
        (("--site", "a b"), "is not a name"),
        (("--site", "./none.yaml"), "no such site file"),
        (("--set", f"{'a.' * 5000}x=1"), "a key of 5,001 parts"),
        (("--set", "command=[./x, --token, Zq7pLm2vXw9t]"), "a secret stands in no job file"),
        (("--set", "env={HF_TOKEN: Zq7pLm2vXw9t}"), "a secret stands in no job file"),
    ],
)
def test_options_that_are_wrong(folder: Path, words: tuple[str, str], said: str) -> None:
    told = complaint(convert(folder, "run.sub", *words))
    assert said in told
    assert "Zq7pLm2vXw9t" not in told


def test_a_directory_is_no_launcher(folder: Path) -> None:
    assert "directory" in complaint(convert(folder, "."))


def test_what_is_about_the_place_is_of_the_site_that_is_named(folder: Path) -> None:
    done = convert(folder, "run.sub", "--site", "mine")
    assert parse_job(done.stdout.decode(), "job.yaml", "/").value.sites["mine"].account == "vision"
    done = convert(folder, "run.sub")
    assert parse_job(done.stdout.decode(), "job.yaml", "/").value.sites == {}
    assert b"account: vision" in done.stderr
