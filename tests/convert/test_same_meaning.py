"""A launcher that is written otherwise, and means the same, becomes the same job; one that means something
else does not, or it is said: a value, a line beside, a block around, an option in another form."""

import re
import subprocess
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.topology import catalogue
from hpclaunch.values.conversion import Conversion

_CASES = [(family, case) for family in ("pyxis", "plain_slurm") for case in script_cases.cases(family)]
_BESIDE = (
    "# srun --nodes=99 ./never",
    'echo "srun --nodes=99 ./never"',
    "set -x",
    "ITS_UNUSED=99",
    "its_unused() {\n  srun --nodes=99 ./never\n}",
    "trap 'echo ended' EXIT",
)
_AROUND = {
    "a condition that holds": ("if true; then", "fi"),
    "a group": ("{", "}"),
    "a function": ("its_block() {", '}\nits_block "$@"'),
    "a function that is looked at": ("function its_block {", '}\nits_block "$@" || exit 1'),
    "another case": ("case 3 in 1|2) echo no;; 3)", ";; esac"),
    "a test in front": ('[ -z "x" ] || {', "}"),
}
# A loop is told by its block, and what stands in a function is no sweep.
_NOT_IN_BLOCKS = re.compile(r"\b(?:shift|declare|local|return|exit|for|while|until)\b|set --|\$[1-9{]|<<")
_OPTION = re.compile(
    r"--(nodes|ntasks|ntasks-per-node|container-image|mpi|time|gpus-per-task)=([^\s\\\"'$]+)(?=\s|$)"
)
_STARTS = re.compile(r"(srun|mpirun|sbatch)\s")
_WRITTEN = {
    "apart": ("", "--{0} {1}"),
    "quoted": ("", '--{0}="{1}"'),
    "quoted as a whole": ("", "'--{0}={1}'"),
    "a variable": ("ITS_VALUE={1}\n", '--{0}="$ITS_VALUE"'),
    "a word": ("ITS_WORD=--{0}={1}\n", "$ITS_WORD"),
    "an array": ("ITS_WORDS=()\nITS_WORDS+=(--{0}={1})\n", '"${{ITS_WORDS[@]}}"'),
    "a default": ("", "--{0}=${{ITS_UNSET:-{1}}}"),
}
_COUNTED = ("nodes", "ntasks", "ntasks-per-node", "gpus-per-node", "cpus-per-task", "time")


def texts_of(family: str, case: str) -> tuple[dict[str, str], Options]:
    told = script_cases.expected(family, case)
    texts = {}
    for name in told["inputs"]:
        with open(f"{script_cases.folder(family, case)}/{name}", encoding="utf-8") as file:
            texts[name] = file.read()
    machine = catalogue.load(told["node_type"]).value if "node_type" in told else None
    return texts, Options(told.get("env", {}), machine, told.get("site", ""))


@lru_cache(maxsize=4)
def _original(family: str, case: str) -> tuple[dict[str, str], Options, Conversion, str]:
    texts, options = texts_of(family, case)
    script = next((name for name, text in texts.items() if is_script(text)), next(iter(texts)))
    return texts, options, convert(classified(texts), options), script


def is_script(text: str) -> bool:
    return "#SBATCH" in text or _STARTS.search(text) is not None


def _job(family: str, case: str, text: str) -> dict[str, Any]:
    texts, options, _, script = _original(family, case)
    return script_cases.loaded(convert(classified({**texts, script: text}), options).job)


def _blocks(text: str) -> list[int]:
    """The lines between which whole commands stand, from the first on that is no comment."""
    lines = text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    starts = range(first, len(lines))
    return [at for at in starts if _is_whole("\n".join(lines[:at])) and not lines[at - 1].endswith("\\")]


def _is_whole(text: str) -> bool:
    done = subprocess.run(["bash", "-n"], input=f"{text}\n", text=True, capture_output=True, timeout=60)
    return done.returncode == 0 and not done.stderr


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_a_line_that_does_nothing_changes_nothing(family: str, case: str) -> None:
    _, _, original, script = _original(family, case)
    text = _original(family, case)[0][script]
    job, lines, places = script_cases.loaded(original.job), text.split("\n"), _blocks(text)
    for number, beside in enumerate(_BESIDE):
        if beside.startswith("ITS") and re.search(r"set -a\b|allexport", text):
            continue
        at = places[(number * 7) % len(places)]
        assert _job(family, case, "\n".join([*lines[:at], beside, *lines[at:]])) == job, (beside, at)


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_a_block_around_commands_changes_nothing(family: str, case: str) -> None:
    texts, _, original, script = _original(family, case)
    text = texts[script]
    job, lines, places = script_cases.loaded(original.job), text.split("\n"), _blocks(text)
    for number, (start, end) in enumerate(pairwise(places)):
        block = "\n".join(lines[start:end])
        if not block.strip() or block.lstrip().startswith("#") or _NOT_IN_BLOCKS.search(block):
            continue
        if block.rstrip().endswith("&"):
            continue  # it is beside what follows, and no more where it is a part of something
        name = list(_AROUND)[number % len(_AROUND)]
        before, behind = _AROUND[name]
        changed = "\n".join([*lines[:start], before, block, behind, *lines[end:]])
        assert _job(family, case, changed) == job, (name, block)


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_an_option_in_another_form_is_the_same(family: str, case: str) -> None:
    texts, _, original, script = _original(family, case)
    text = texts[script]
    job, lines, places = script_cases.loaded(original.job), text.split("\n"), _blocks(text)
    for at, line in enumerate(lines):
        found = _OPTION.search(line) if _STARTS.match(line) else None
        if found is None or '"' in line[: found.start()] or "'" in line[: found.start()] or at not in places:
            continue
        for name, (before, written) in _WRITTEN.items():
            option = written.format(found[1], found[2])
            changed = (
                f"{before.format(found[1], found[2])}{line[: found.start()]}{option}{line[found.end() :]}"
            )
            assert _job(family, case, "\n".join([*lines[:at], changed, *lines[at + 1 :]])) == job, name


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_another_number_is_in_the_job_or_in_the_report(family: str, case: str) -> None:
    texts, options, original, script = _original(family, case)
    for found in re.finditer(rf"--(?:{'|'.join(_COUNTED)})=(\d+)\b(?!:)", texts[script]):
        line = texts[script].count("\n", 0, found.start()) + 1
        number = str(int(found[1]) + 1)
        changed = texts[script][: found.start(1)] + number + texts[script][found.end(1) :]
        now = convert(classified({**texts, script: changed}), options)
        if now.job == original.job:
            its = [each for each in now.findings if any(place.line == line for place in each.places)]
            words = " ".join(f"{each.what} {each.became} {each.why}" for each in its)
            assert re.search(rf"(?<![\w.]){number}(?![\w.])", words), found[0]
