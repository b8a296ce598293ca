"""Variables that are exported before they have a value: what a command gets of them, as bash, run for real,
gives it."""

import subprocess
from pathlib import Path

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

_NAMES = ("A1", "B1", "C1")
_PRINT = "#!/bin/bash\n" + "".join(f'[ -z "${{{name}+x}}" ] || echo "{name}=${name}"\n' for name in _NAMES)


@pytest.mark.parametrize(
    "lines",
    [
        "export A1 B1\nread -r A1 B1 <<< 'one two three'",
        "typeset -x A1\nprintf -v A1 '%s-%d' ab 7",
        "export A1\n: ${A1:=dflt} ${B1:=other}",
        "export A1\nIFS=, read A1 B1 <<< 'u,v'",
        "export A1\nexport -n A1\nread A1 <<< 7",
        "export A1\nread A1 <<< 7\nexport -n A1",
        "export A1\nunset A1\nread A1 <<< 7",
        "export A1\nf() { local A1; read A1 <<< 1; srun; }\nf",
        "export A1\nf() { read A1 <<< 1; }\nf",
        "export A1\n( read A1 <<< 1 )",
        "set -a\nread A1 <<< 4\nset +a\nread B1 <<< 5",
        "set -a\nprintf -v A1 4\nset +a\nA1=6",
        "export A1\nfor A1 in x y; do :; done",
        "export A1\nlet A1=3+4",
        "export A1\nA1+=more",
    ],
)
def test_an_export_is_of_what_the_variable_is_given_later(lines: str, tmp_path: Path) -> None:
    script = f"{lines}\nsrun\n"
    (tmp_path / "srun").write_text(_PRINT)
    (tmp_path / "srun").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=True, timeout=30
    )
    found = [each for each in read([Source("run.sh", script)], {}).commands if each.program == "srun"]
    told = [
        f"{name}={known(value)}"
        for each in found
        for name, value in sorted(dict(each.environment).items())
        if name in _NAMES
    ]
    assert told == done.stdout.splitlines()


@pytest.mark.parametrize("option", ["", "--export=ALL,A1=new,B1=only "])
def test_of_what_is_exported_srun_hands_on_the_value_that_it_has(option: str) -> None:
    head = "#!/bin/bash\n#SBATCH -t 5 -N 1 --ntasks-per-node=2 --gpus-per-node=2\n"
    text = f"{head}export A1=old\nsrun --mpi=none {option}./x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert loaded(found.job)["env"] == {"A1": "old"} | ({"B1": "only"} if option else {})
    told = [each for each in found.findings if each.kind == "defect" and "A1 is exported" in each.why]
    assert bool(told) == bool(option)
