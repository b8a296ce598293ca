"""Options of other schedulers than Slurm that say nothing about the sizes of a launch."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion, Finding


def _of(*lines: str, run: str = "mpirun ./t") -> Conversion:
    return convert(classified({"run.sh": "\n".join(("#!/bin/bash", *lines, run, ""))}), Options({}))


def _its(line: str) -> list[Finding]:
    return [
        each for each in _of(line).findings if each.places[0].line == 2 and "a script for" not in each.what
    ]


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ("#PBS -j oe", "replaced", "hpclaunch logs"),
        ("#PBS -o out.txt", "replaced", "hpclaunch logs"),
        ("#BSUB -eo err.%J", "replaced", "hpclaunch logs"),
        ("#OAR --stdout out.txt", "replaced", "hpclaunch logs"),
        ("#PBS -m abe", "replaced", "mail at the end"),
        ("#$ -m n", "replaced", "nobody is written to"),
        ("#PBS -r n", "replaced", "never requeued"),
        ("#PBS -r y", "left", "an option of PBS"),
        ("#$ -S /bin/bash", "without effect", "such a shell"),
        ("#PBS -V", "replaced", "not all that was exported"),
        ("#$ -V", "replaced", "not all that was exported"),
        ("#PJM -X", "replaced", "not all that was exported"),
        ("#PBS -l mem=4gb", "replaced", "all memory of whole nodes"),
        ("#$ -l h_vmem=4G", "replaced", "all memory of whole nodes"),
        ("#$ -cwd", "replaced", "from the job file's folder"),
        ("#PBS -d .", "replaced", "from the job file's folder"),
        ("#PBS -d /data/x", "left", "an option of PBS"),
        ("#PBS -p 10", "left", "an option of PBS"),
    ],
)
def test_what_becomes_of_an_option_is_said(line: str, kind: str, said: str) -> None:
    (its,) = _its(line)
    assert its.kind == kind
    assert said in its.why


def test_what_is_left_of_an_option_is_not_said_to_have_another_name() -> None:
    (its,) = _its("#$ -ckpt blcr")
    assert its.todo.startswith("see whether the job needs it")


@pytest.mark.parametrize("mark", ["#PBS", "#MSUB", "#$"])
@pytest.mark.parametrize("run", ["mpirun ./t", "solver -x"])
def test_variables_that_are_asked_for_are_in_the_environment(mark: str, run: str) -> None:
    found = _of(f"{mark} -v STEPS=20,CASE", "export A=1", run=run)
    became = {each.became for each in found.findings}
    assert {"env.STEPS: 20", "inherit.0: CASE", "env.A: 1"} <= became


def test_a_secret_among_them_is_not_told() -> None:
    found = _of("#PBS -v STEPS=20,WANDB_API_KEY=abcdef0123456789abcdef0123456789abcdef01")
    assert "abcdef0123456789" not in " ".join(
        f"{each.what} {each.became} {each.why}" for each in found.findings
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#!/bin/csh\n#PBS -l select=4:mpiprocs=8,walltime=2:00:00\nmpiexec ./t\n", "4 - 2:00:00"),
        ("#PBS -S /bin/tcsh\n#PBS -l nodes=2:ppn=4\nsetenv A 1\nmpirun ./t\n", "2 - -"),
        ("#!/bin/bash\n#$ -S /bin/csh\n#$ -l h_rt=600\n./t\n", "- - 10"),
        ("#!/bin/tcsh\n#BSUB -W 1:30\n#BSUB -nnodes 3\n\nset n = 2\n#BSUB -nnodes 9\n", "3 - 1:30:00"),
        ("#!/bin/csh\n#SBATCH -N 2 --time=5\nsrun ./t\n", "2 - 00:05:00"),
        ("#!/bin/csh\nmpirun ./t\n", "- - -"),
        ("#$ -S /usr/bin/csh\n#$ -l h_rt=60\nset a = 1\n", "- - 1"),
    ],
)
def test_what_a_script_for_csh_asks_for_is_told(text: str, told: str) -> None:
    found = convert(classified({"run.sh": text}), Options({}))
    assert "sh: hpclaunch reads scripts for sh and bash alone" in found.refused
    its = {each.name: each.told for each in found.launch}
    names = ("nodes", "ranks", "time limit")
    assert " ".join(its[name].replace("not determined", "-").split()[0] for name in names) == told
    assert not any(each.kind == "question" for each in found.findings)


def test_a_script_for_a_program_that_is_no_shell_is_refused_by_its_name() -> None:
    text = "#$ -S /usr/bin/Rscript\n#$ -l h_rt=600\nx <- read.csv('a')\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert "a script for Rscript" in found.refused
    assert {each.name: each.told for each in found.launch}["time limit"] == "10 minutes"


def test_a_program_beside_a_script_is_no_script_for_another_shell() -> None:
    texts = {"run.sh": "#!/bin/sh\nsrun ./fit.py\n", "fit.py": "#!/usr/bin/env python\nx = 1\n"}
    assert not convert(classified(texts), Options({})).refused
