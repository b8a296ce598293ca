"""srun's --export, part by part: quotes in it, names that the script sets without export, and what stands
behind NONE (_build_user_env of src/srun/launch.c, find_quote_token of src/common/env.c)."""

import json

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _converted(export: str, before: str = "") -> Conversion:
    lines = f"#SBATCH -N2 --gpus-per-node=8 --ntasks-per-node=8 -t 5\n{before}"
    return convert(
        classified({"run.sub": f"#!/bin/bash\n{lines}\nsrun --mpi=pmix --export={export} ./t\n"}), Options({})
    )


def _said(found: Conversion, part: str) -> list[str]:
    return [each.kind for each in found.findings if part in each.why]


@pytest.mark.parametrize(
    ("export", "expected", "defects"),
    [
        ("\"A='x,y',B=2\"", {"A": "'x,y'", "B": "2"}, 1),
        ("\"'A=x,y',B=2\"", {"A": "x,y", "B": "2"}, 0),
        ("'A=\"x,y\",B=2'", {"A": '"x,y"', "B": "2"}, 1),
        ('"A=it\'s,B=2"', {"A": "it's,B=2"}, 0),
        ('"A=x,B=2"', {"A": "x", "B": "2"}, 0),
    ],
)
def test_a_comma_in_quotes_ends_no_value(export: str, expected: dict[str, str], defects: int) -> None:
    found = _converted(export)
    assert loaded(found.job)["env"] == expected
    assert len(_said(found, "quotes within the option")) == defects


def test_srun_reads_nothing_behind_none() -> None:
    found = _converted("A=1,NONE,B=2")
    assert loaded(found.job)["env"] == {"A": "1"}
    assert _said(found, "no rank got B") == ["defect"]


def test_a_name_that_the_script_does_not_export_is_not_the_submitters() -> None:
    found = _converted("ALL,DEPTH", "DEPTH=2")
    job = loaded(found.job)
    assert not {"env", "inherit"} & job.keys()
    assert _said(found, "does not export it") == ["left"]
    assert loaded(_converted("ALL,DEPTH", "export DEPTH=2").job)["env"] == {"DEPTH": "2"}
    assert loaded(_converted("ALL,DEPTH").job)["inherit"] == ["DEPTH"]


def test_a_secret_in_quotes_is_hidden_as_a_whole() -> None:
    found = _converted("\"ALL,MY_TOKEN='hunter2,velvet'\"")
    text = found.job + json.dumps([[each.what, each.why, each.todo] for each in found.findings])
    assert "MY_TOKEN" in text
    assert "hunter2" not in text
    assert "velvet" not in text
