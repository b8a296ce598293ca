"""Whatever is given: no traceback, nothing of it is run, no network, no file is written, and each report
holds what was found."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from watch import Watch

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import markdown, text
from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Conversion
from hpclaunch.values.errors import InputError

HERE = Path(__file__).parent
NOT_INPUTS = (".expected.yaml", "expected.yaml")
SCRIPTS = sorted(
    path
    for path in [*(HERE / "scripts").rglob("*"), *(HERE / "manifests").rglob("*")]
    if path.is_file() and path.suffix not in (".py", ".pyc") and not path.name.endswith("expected.yaml")
)
CORPUS = [each for each in (path.read_bytes().decode() for path in SCRIPTS) if each.strip()]

# What shells and YAML give a meaning to.
MARKS = [
    *"\"'`$(){}[]<>|&;#\\!*?=~,:%/@^-+ \t\n\r\0é\x85\u2028\ufeff",
    *("$((", "))", "${", "$(", "$'\\ud800\\0'", "<<E\n", "<<<", "[[", "]]", "((", "&&", "||", "\\\n", "+="),
    *("..", "if ", "then ", "fi\n", "for x in ", "do ", "done\n", "while :; do ", "case x in ", "esac\n"),
    *("f() { f; }\nf\n", "${x:-${x:-$x}}", "${!x}", "${a[@]}", "{1..99999}", "eval ", "source run.sub\n"),
    *(". ", "a=$a$a$a\n", "x=(" * 9, "#SBATCH --nodes=", "#SBATCH -N", "srun ", "docker run ", "ssh "),
    *("mpirun -np ", "--container-mounts=:", "export TOKEN=", "bash -c '", "- ", ": ", "&a ", "*a"),
    *("kind: MPIJob\n", "!!python/object:os.system "),
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A launcher or a manifest after somebody's accident."""
    found = draw(st.sampled_from(CORPUS))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(found)))
        length = draw(st.sampled_from([0, 0, 1, 2, 5, 30, 300, 3000]))
        piece = st.sampled_from(CORPUS).map(lambda other: other[: draw(st.integers(0, 400))])
        inserted = draw(
            st.one_of(st.sampled_from(MARKS), st.text(max_size=3), st.just(found[start : start + 60]), piece)
        )
        found = found[:start] + inserted + found[start + length :]
    return found


WATCH = Watch(("shfmt",))


def outcome(texts: dict[str, str], options: Options) -> Conversion | str:
    """The conversion, or the message; nothing else may happen."""
    with WATCH as seen:
        try:
            found: Conversion | str = convert(classified(texts), options)
        except InputError as error:
            found = "\n".join(map(str, error.problems))
    assert seen == []
    return found


def check(found: Conversion | str, names: list[str]) -> None:
    if isinstance(found, str):
        assert found
        return
    for each in found.findings:
        assert each.places, each
        assert {place.file for place in each.places} <= {*names, "--env DATADIR", "the input"}, each
    assert text(found)
    assert markdown(found)
    assert msgspec.json.encode(found)
    assert bool(found.job) != bool(found.refused)
    if found.job:
        said = problems(found.job)
        assert found.is_complete == (not said)
        assert all("is still open" in each or "more problems" in each for each in said)


def problems(job: str) -> list[str]:
    """What the reader of job files says."""
    try:
        parse_job(job, "job.yaml", "/")
    except InputError as error:
        return list(map(str, error.problems))
    return []


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@example(  # what one line asks another tells
    first='#SBATCH -N2 -t 30 --gres="gpu:8\n'
    "ssh $h docker run -d --name c -e NVIDIA_VISIBLE_DEVICES=0,1 reg/eye:1 sleep infinity\n"
    "docker exec c mpirun -np 4 python train.py\n",
    second=None,
    site="",
)
@example(  # of one of two groups nothing is told
    first="#SBATCH -t 10\n#SBATCH hetjob\n#SBATCH -N 2 -n 8 --gres=gpu:4\nsrun --het-group=0,1 --mpifi\n",
    second=None,
    site="",
)
@example(  # no variable has such a name
    first="mpirun -np 16 -H a:8,b:8 -mca ${x}btl ^openib docker exec hvd python train.py\n",
    second=None,
    site="",
)
@given(first=mutated(), second=st.none() | mutated(), site=st.sampled_from(["", "superpod"]))
def test_any_text(first: str, second: str | None, site: str) -> None:
    texts = {"run.sub": first.replace("\r\n", "\n")} | ({"config.sh": second} if second else {})
    check(outcome(texts, Options({"DATADIR": "/data"}, None, site)), list(texts))


@pytest.mark.parametrize("index", range(len(CORPUS)))
def test_each_text_cut_short(index: int) -> None:
    found = CORPUS[index]
    for part in range(1, 6):
        texts = {"run.sub": found[: len(found) * part // 6]}
        check(outcome(texts, Options({})), ["run.sub"])


LARGE = {
    "assignments": "".join(f"export V{n}=${{V{n - 1}:-x}}\n" for n in range(1, 26000)),
    "one long line": "srun echo " + "x " * 300_000,
    "long words": "#!/bin/bash\nsrun " + "a" * 900_000 + "\n",
    "doubling": "a=x\n" + "a=$a$a\n" * 200 + "srun $a\n",
    "loops": "for a in {1..99}; do for b in {1..99}; do for c in {1..99}; do srun x; done; done; done\n",
    "deep": "(" * 5000,
    "deep conditions": "if :; then\n" * 3000 + "srun x\n" + "fi\n" * 3000,
    "quotes": "'\"`$(" * 100_000,
    "questions": "".join(f"[ $a = 1 ]&&export V{n}=1\n" for n in range(40_000)) + "srun x\n",
    "steps": "#!/bin/bash\n" + 'srun -N1 ./a.sh "$X" b c\n' * 25_000,
    "blank": "\n" * 1_000_000 + "srun x\n",
    "comments": "#" * 1_000_000 + "\nsrun x\n",
    # Short enough that defects are looked for in the tree too, and long enough to see what grows by squares.
    "one word": "#!/bin/bash\nsrun " + "a1_" * 80_000 + "\n",
    "many set": "srun a\n" + "set " * 60_000 + "\n",
    "many cp": "echo x >> authorized_keys\nsrun a " + "cp " * 80_000 + "\n",
    "equals": "srun " + "a=" * 300_000,
    "hosts": "".join(f"node{n} slots=8\n" for n in range(40_000)),
    "heredoc": "cat <<EOF\n" + "x $Y\n" * 100_000 + "EOF\nsrun x\n",
    "yaml": "apiVersion: v1\nkind: Pod\nspec:\n" + "".join(f"  a{n}: {n}\n" for n in range(50_000)),
    "yaml list": "kind: MPIJob\nx: " + "[" * 50_000,
    "yaml aliases": "kind: Pod\na: &a [x,x]\n" + "".join(f"b{n}: &b{n} [*a,*a]\n" for n in range(2000)),
    "broken": "#!/bin/bash\n" + "srun 'x\necho `a `b` c`\nif then fi done\n" * 2000,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_and_hostile_inputs_have_an_answer(name: str) -> None:
    check(outcome({"run.sub": LARGE[name][:1_000_000]}, Options({})), ["run.sub"])


def test_programs_of_the_script_are_never_started(tmp_path: Path) -> None:
    """Traps under the names of all programs that launchers call, in front of PATH."""
    traps = tmp_path / "bin"
    traps.mkdir()
    for name in (
        *("srun", "sbatch", "scontrol", "getent", "hostname", "date", "docker", "ssh"),
        *("mkdir", "bash", "sh", "cat", "touch"),
    ):
        sprung = f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r})"
        (traps / name).write_text(f"#!{sys.executable}\n{sprung}\n")
        (traps / name).chmod(0o755)
    script = tmp_path / "run.sub"
    script.write_text(
        f"#!/bin/bash\nx=$(touch {tmp_path}/sprung)\n`hostname`\neval srun $(date) <(cat {script})\n"
        f"echo > {tmp_path}/written\nsource <(sbatch)\n"
        "srun --container-image=a/b -N2 $(scontrol show x) ./run.sh\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "hpclaunch", "convert", str(script)],
        env={**os.environ, "PATH": f"{traps}:{os.environ['PATH']}"},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists()
    assert not (tmp_path / "written").exists()
