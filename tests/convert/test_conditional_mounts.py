"""Mounts that a script adds on a condition: those that are there in any case are carried, each other is asked
about by its name, and together they are what srun is given."""

import itertools
import subprocess
from pathlib import Path

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Conversion

HEAD = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:8 --ntasks-per-node=8 -t 1:00\n"
RUN = "\nsrun --mpi=pmix --container-image=a/b:1 --container-mounts=$M ./train\n"
# What is asked about, by the folder that decides.
SCRIPTS: dict[str, dict[str, str]] = {
    "M=/d:/d\nif [ -d a ]; then M+=,/a:/a; fi\n[[ -d b ]] && M+=,/b:/b:ro": {"a": "/a:/a", "b": "/b:/b:ro"},
    'M=/d:/d\nif [ -d a ]; then\n  M="$M,/a:/a"\nfi\nM="${M},/e:/e"': {"a": "/a:/a"},
    "M=/d:/d,/e:/e:ro\ntest -d a && M=$M,/a:/a,/c:/c": {"a": "/a:/a,/c:/c"},
    'M=/d:/d\nif [ -d a ]; then M+=",$X:/x"; fi': {"a": "/given:/x"},
    "declare -A L=([/d]=/d [/s]=/e)\nfor k in ${!L[@]}; do M+=$k:${L[$k]},; done\n"
    "M=${M%,}\n[[ -d a ]] && M+=,/a:/a": {"a": "/a:/a"},
}
OTHERS = (
    "if [ -d a ]; then M=/a:/a; else M=/b:/b; fi",
    "M=/d:/d\nif [ -d a ]; then M=/a:/a; fi",
    "M=/d:/d\nif [ -d a ]; then unset M; fi",
    "M=/d:/d\nfor i in *; do M+=,/$i:/$i; done",
)


def converted(script: str) -> Conversion:
    return convert(classified({"run.sub": HEAD + script + RUN}), Options({"X": "/given"}))


@pytest.mark.parametrize(
    "lines",
    [
        "if [ $X = 1 ]; then M=/a:/a; else M=/b:/b; fi",
        "case $X in 1) M=/a:/a;; *) M=/b:/b;; esac",
        "M=/a:/a\n[ -d x ] && M=/b:/b",
    ],
)
def test_a_question_names_what_the_script_chooses_from(lines: str) -> None:
    text = HEAD + lines
    text += RUN.replace("a/b:1", "$M")
    found = convert(classified({"run.sub": text}), Options({}))
    said = {each.key: each.why for each in found.findings if each.kind == "question"}
    for key in ("image", "mounts.0"):
        assert "'/a:/a' or '/b:/b'" in said[key]


def asked(found: Conversion) -> list[str]:
    return [
        each.what.removeprefix("mount ")
        for each in found.findings
        if each.kind == "question" and each.key.startswith("mounts")
    ]


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_carried_and_what_is_asked_about_is_all(script: str, tmp_path: Path) -> None:
    found = converted(script)
    decided = SCRIPTS[script]
    assert sorted(asked(found)) == sorted(each for mounts in decided.values() for each in mounts.split(","))
    text = "\n".join(line for line in found.job.split("\n") if "<ask: " not in line)
    job = parse_job(text, "job.yaml", str(tmp_path)).value
    assert all(isinstance(each, str) for each in job.mounts)
    certain = set(job.mounts)
    (tmp_path / "srun").write_text('#!/bin/bash\nprintf "%s\\n" "$@" > "$SHOWN"\n')
    (tmp_path / "srun").chmod(0o700)
    for there in itertools.product([False, True], repeat=len(decided)):
        folder = tmp_path / "".join(map(str, map(int, there)))
        folder.mkdir()
        mounts = {str(each) for each in certain}
        for name, exists in zip(decided, there, strict=True):
            if exists:
                (folder / name).mkdir()
                mounts |= set(decided[name].split(","))
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SHOWN": str(folder / "shown"), "X": "/given"}
        subprocess.run(["bash", "-c", HEAD + script + RUN], cwd=folder, env=environment, check=True)
        (given,) = (
            word
            for word in (folder / "shown").read_text().split("\n")
            if word.startswith("--container-mounts=")
        )
        assert set(given.partition("=")[2].split(",")) == mounts


@pytest.mark.parametrize("script", OTHERS)
def test_a_list_that_may_be_another_is_asked_about_as_a_whole(script: str) -> None:
    found = converted(script)
    assert asked(found)
    assert "/d:/d" not in "".join(line for line in found.job.split("\n") if "<ask: " not in line)


@pytest.mark.parametrize(
    "command",
    [
        "test -d /a && echo /a || echo /b",
        "if test -d /a; then echo /a; else echo /b; fi",
        "echo -n /a; test -d /b && echo /b",
        "case $(hostname) in n*) echo /a ;; *) echo /b ;; esac",
    ],
)
def test_a_source_that_a_test_on_the_node_decides_is_asked(command: str) -> None:
    run = "srun --mpi=none --container-image=img/x:1 --container-mounts=$P:/data ./train"
    script = f"#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4 --ntasks-per-node=4 -t 1:00\nP=$({command})\n{run}\n"
    found = convert(classified({"run.sub": script}), Options({}))
    assert [each.key for each in found.findings if each.kind == "question"] == ["mounts.0"]
