"""Rendered scripts against the ones in scripts/, which people read in review.

After a change that is meant: `pytest tests/golden --update-golden`, and read the diff.
"""

import re
import shutil
import subprocess

import pytest
from golden_cases import BATCH, CASES, HERE, Case

from hpclaunch.rank import wrapper_text
from hpclaunch.spec import hosts

each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each
def test_script_is_the_expected_one(case: Case, request: pytest.FixtureRequest) -> None:
    text = case.render()
    assert text == case.expected(text, request)


def test_every_script_belongs_to_a_case() -> None:
    assert {path.stem for path in (HERE / "scripts").iterdir()} == {case.name for case in CASES}


@pytest.mark.parametrize("case", BATCH, ids=lambda case: case.name)
def test_a_script_is_as_long_for_all_nodes_as_for_two(case: Case) -> None:
    largest = sum(hosts.count(shape.hosts) for shape in case.plan().common.shapes)
    assert largest > 100
    check = case.plan().target.preflight
    spares = check.spares if check is not None else 0
    groups = case.plan().common.groups
    first, *rest = groups.members if groups else (None,)
    key, others = f"groups.{first.name}.nodes" if first else "nodes", sum(group.nodes for group in rest)
    apart = bool(getattr(case.plan().target, "components", ()))  # each has spare nodes of its own
    of_first = largest - spares * (1 + (len(rest) if apart else 0)) - others
    two, all_of_them = case.render(f"{key}=2"), case.render(f"{key}={of_first}")
    asked = of_first + spares if apart else largest
    assert re.search(rf"^#SBATCH --nodes={asked}\b", all_of_them, re.MULTILINE)
    assert len(all_of_them.splitlines()) == len(two.splitlines())


@each
def test_bash_hands_every_rank_the_wrapper_of_its_settings(case: Case) -> None:
    here_document = r"^IFS= read -r -N 131072 (\w+) <<'WRAPPER'\n.*?^WRAPPER\n"
    found = re.search(here_document, case.render(), re.MULTILINE | re.DOTALL)
    assert found
    reading = f'{found[0]}printf %s "${found[1]}"'
    done = subprocess.run(["bash", "-p"], input=reading, capture_output=True, text=True)
    settings = [option.text for option in case.plan().target.wrapper]
    assert (done.stdout, done.stderr) == (wrapper_text(settings), "")


@each
def test_shellcheck_finds_nothing(case: Case) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", case.golden], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# The controller here gives out whole GPUs alone; tests/sandbox has one with slices.
WHOLE_GPUS = [case for case in BATCH if not any(group.mig for group in case.read_site().node_types)]


@pytest.mark.sandbox
@pytest.mark.parametrize("case", WHOLE_GPUS, ids=lambda case: case.name)
def test_sbatch_would_take_it(case: Case, nodes_560: dict[str, str]) -> None:
    done = subprocess.run(
        ["sbatch", "--test-only", case.golden], env=nodes_560, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
