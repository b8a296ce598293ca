"""What reaches the ranks of the environment: not what env(1) takes away, and what was exported outside."""

import os
import subprocess
from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SCRIPT = """\
#!/bin/bash
#SBATCH -N 2
export A=1 B=2
{run} ./t
"""


@pytest.mark.parametrize(
    ("run", "env"),
    [
        ("srun", {"A": "1", "B": "2"}),
        ("env -u A srun", {"B": "2"}),
        ("env --unset=A srun", {"B": "2"}),
        ("env --unset A -u B srun", {}),
        ("env -u A A=3 srun", {"A": "3", "B": "2"}),
        ("env -i X=1 srun", {"X": "1"}),
        ("env - X=1 srun", {"X": "1"}),
        ("C=4 env -u C srun", {"A": "1", "B": "2"}),
        ("env X=1 env -u X -u B srun", {"A": "1"}),
        ("env -u A mpirun -np 2", {"B": "2"}),
    ],
)
def test_what_env_takes_away_is_not_in_the_job(run: str, env: dict[str, str]) -> None:
    found = convert(classified({"run.sub": _SCRIPT.format(run=run)}), Options({}))
    job: dict[str, Any] = script_cases.loaded(found.job)
    assert job.get("env", {}) == env
    gone = {"A", "B", "C"} & set("ABC" if run.startswith("C") else "AB") - env.keys()
    said = " ".join(each.what for each in found.findings if each.kind == "without effect")
    assert all(name in said for name in gone)


@pytest.mark.parametrize(
    "line",
    [":", "C=${C:?}", "C=$C", "C=${C:?}; C=$C", "C=$C; export -n C", "D=$C", 'if [ "$C" ]; then C=$C; fi'],
)
def test_what_the_operator_exports_reaches_the_ranks_as_it_did(line: str) -> None:
    """What bash hands on of it, and what the job takes of the shell of who submits."""
    argv = ["bash", "-c", f"{line}; sh -c 'echo \"$C\"'"]
    environment = {**os.environ, "C": "given"}
    shown = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    text = f"#!/bin/bash\n#SBATCH -N 2\n{line}\nsrun --mpi=none sh -c './t \"$C\"'\n"
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    values = {**dict.fromkeys(job.get("inherit", ()), "given"), **job.get("env", {})}
    assert values.get("C", "") == shown.stdout.strip()


@pytest.mark.parametrize(
    "run", ["env $(cat .env) srun", "nice -n 5 env A=1 $(cat .env) srun", "env $VARS srun"]
)
def test_what_env_is_given_and_no_line_tells_is_said(run: str) -> None:
    text = _SCRIPT.format(run=run).replace("#SBATCH -N 2", "#SBATCH -N 2\nVARS=$(cat .env)")
    found = convert(classified({"run.sub": text}), Options({}))
    (left,) = (each for each in found.findings if each.kind == "left" and each.what.startswith("env "))
    assert "known only where it runs" in left.why
    (fact,) = (each for each in found.launch if each.name == "environment")
    assert fact.state == "not determined"
