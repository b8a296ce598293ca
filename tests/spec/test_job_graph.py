"""Jobs that wait for each other: the whole graph is checked, and none comes before one that it waits for."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.spec.graph import read_graph
from hpclaunch.values.errors import InputError


def write(folder: Path, name: str, needs: str = "[]", more: str = "") -> str:
    (folder / f"{name}.yaml").write_text(
        f"version: 1\nname: {name}\ncommand: [x]\ndepends_on: {needs}\n{more}", encoding="utf-8"
    )
    return str(folder / f"{name}.yaml")


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=6), st.permutations(range(6)))
def test_a_job_comes_after_all_that_it_waits_for(needs: list[set[int]], order: list[int]) -> None:
    # Each waits for jobs with smaller numbers alone: there is no ring.
    edges = {number: {each for each in own if each < number} for number, own in enumerate(needs)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for number, own in edges.items():
            write(folder, f"j{number}", str([f"j{each}.yaml" for each in own]))
        files = [str(folder / f"j{number}.yaml") for number in order if number in edges]
        files = files[: 1 + len(files) // 2]
        members = read_graph(files, ())
    names = [member.document.value.name for member in members]
    assert len(set(names)) == len(names)
    for index, member in enumerate(members):
        waited_for = {names[need.index] for need in member.needs}
        assert waited_for == {f"j{each}" for each in edges[int(names[index][1:])]}
        assert all(need.index < index for need in member.needs)
    by_position = {member.given: member.document.file for member in members if member.given is not None}
    assert [by_position[position] for position in range(len(files))] == files


def test_files_are_found_from_the_one_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path, "first")
    write(tmp_path / "sub", "second", "[{job: ../first.yaml, when: afterany}]")
    monkeypatch.chdir(tmp_path)
    first, second = read_graph(["sub/second.yaml", "first.yaml"], ())
    assert (first.document.file, first.given, second.given) == ("first.yaml", 1, 0)
    assert [(need.index, need.when) for need in second.needs] == [(0, "afterany")]


def refused(*files: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        read_graph(files, ())
    return {problem.where: problem.message for problem in caught.value.problems}


def test_rings_are_named_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, needs in (("a", "[b.yaml]"), ("b", "[c.yaml]"), ("c", "[a.yaml]"), ("own", "[own.yaml]")):
        write(tmp_path, name, needs)
    found = refused("a.yaml")
    assert found == {
        "c.yaml:4:14": "depends_on: the jobs wait for each other: "
        "a.yaml waits for b.yaml waits for c.yaml waits for a.yaml"
    }
    assert "own.yaml waits for own.yaml" in refused("own.yaml")["own.yaml:4:14"]


def test_all_that_is_wrong_in_all_files_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a", "[b.yaml, missing.yaml]", "nodes: 0\n")
    write(tmp_path, "b", "[{when: afterok}]")
    found = refused("a.yaml", "nowhere.yaml")
    assert "nodes: 0" in found["a.yaml:5:8"]
    assert "nowhere.yaml: no such job file" in found[""]
    write(tmp_path, "a", "[b.yaml, missing.yaml]")
    found = refused("a.yaml")
    assert "missing.yaml: no such job file" in found["a.yaml:4:22"]
    assert "add job: FILE" in found["b.yaml:4:14"]


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a")
    os.symlink("a.yaml", "link.yaml")
    assert "given twice" in refused("a.yaml", "link.yaml")[""]


def test_singleton_is_about_jobs_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a", "[{when: singleton}]")
    (alone,) = read_graph(["a.yaml"], ())
    assert (alone.singleton, alone.needs) == (True, ())
    write(tmp_path, "b", "[{job: a.yaml, when: singleton}]")
    assert "a.yaml is a, not b: write afterany" in refused("b.yaml")["b.yaml:4:14"]
