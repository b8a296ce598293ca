"""The job and the site that a record keeps launch what the user's own files did, wherever they lie."""

from pathlib import Path

import pytest
from golden_cases import CASES, DIRECTORY, HERE, MANIFESTS, ROOT, Case

from hpclaunch.cli.planning import plan_all
from hpclaunch.render import script
from hpclaunch.spec.dump import dump_job, dump_site
from hpclaunch.spec.read import parse_job


@pytest.mark.parametrize("case", [*CASES, *MANIFESTS], ids=lambda case: case.name)
def test_what_a_record_keeps_renders_to_what_was_sent(case: Case, tmp_path: Path) -> None:
    file = ROOT / f"{case.job}.yaml" if "/" in case.job else HERE / "jobs" / f"{case.job}.yaml"
    job = parse_job(file.read_text("utf-8"), str(file), DIRECTORY, case.set).value
    (tmp_path / "job.yaml").write_text(dump_job(job), "utf-8")
    (tmp_path / "site.yaml").write_text(dump_site(case.read_site()), "utf-8")
    planned = plan_all(str(tmp_path / "job.yaml"), str(tmp_path / "site.yaml"), ())
    assert [script.render(each.plan) for each in planned] == [case.render()]
