"""Scripts of sbatch, with Pyxis and without, become the jobs that stand beside them: each key, no other."""

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Conversion

_CASES = [(family, case) for family in ("pyxis", "plain_slurm") for case in script_cases.cases(family)]


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_the_job_is_the_one_expected(family, case):
    told = script_cases.expected(family, case)
    found = script_cases.converted(family, case, told)
    job = script_cases.loaded(found.job)
    assert job == told["job"]
    asked = [each for each in found.findings if each.kind == "question" and each.key]
    assert len(asked) == str(told["job"]).count(repr(ASK))
    if not asked:
        parse_job(found.job, "job.yaml", "/work")


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_the_report_names_what_became_of_it(family, case):
    told = script_cases.expected(family, case)
    found = script_cases.converted(family, case, told)
    for wanted in told.get("findings", ()):
        assert any(_is(each, wanted) for each in found.findings), (wanted, _near(found, wanted))
    for text in told.get("absent", ()):
        assert text not in found.job
        assert not any(text in str(each) for each in found.findings)


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_a_value_names_its_own_lines_and_an_option_is_told_once(family, case):
    told = script_cases.expected(family, case)
    found = script_cases.converted(family, case, told)
    for key, lines in told.get("lines", {}).items():
        (finding,) = (each for each in found.findings if each.kind == "carried" and each.key == key)
        assert [f"{place.file}:{place.line}" for place in finding.places] == lines
    for wanted in told.get("once", ()):
        what, _, place = wanted.partition(" at ")
        its = [each for each in found.findings if each.what == what and place in map(str, each.places)]
        assert len(its) == 1


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_each_value_of_the_job_has_a_line_of_the_input(family, case):
    told = script_cases.expected(family, case)
    found = script_cases.converted(family, case, told)
    names = {*told["inputs"], *(f"--env {name}" for name in told.get("env", {}))}
    names.add(f"--node-type {told.get('node_type')}")
    for each in found.findings:
        if each.kind == "carried":
            assert each.places
            assert {place.file for place in each.places} <= names


def _is(found, wanted):
    return (
        found.kind == wanted["kind"]
        and wanted["what"] in found.what
        and wanted.get("why", "") in found.why
        and any(wanted["at"] in (f"{place.file}:{place.line}", place.file) for place in found.places)
        and wanted.get("key", found.key) == found.key
    )


def _near(found: Conversion, wanted):
    return [each for each in found.findings if wanted["what"] in each.what or wanted["kind"] == each.kind]


def test_without_a_site_the_groups_own_words_are_told_as_its_keys():
    case = ("plain_slurm", "propagated_options")
    told = script_cases.expected(*case)
    found = script_cases.converted(*case, {each: told[each] for each in told if each != "site"})
    assert "sites" not in script_cases.loaded(found.job)
    written = [each.todo.removeprefix("write ").split(": ") for each in found.findings if "SITE" in each.todo]
    groups: dict[str, dict[str, str]] = {}
    for key, value in written:
        _, group, rest = key.split(".", 2)
        groups.setdefault(group, {})[rest.removeprefix("sites.SITE.")] = value
    assert groups == {name: each["sites"]["lab"] for name, each in told["job"]["groups"].items()}
