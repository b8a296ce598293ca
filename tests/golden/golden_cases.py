"""The cases of cases.yaml and manifest-cases.yaml, and the script or the manifest of each."""

from pathlib import Path

import msgspec
import pytest
import yaml

from hpclaunch.plan.planner import Planner
from hpclaunch.plan.sweep import launches
from hpclaunch.render import script
from hpclaunch.spec.document import Document
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.launchplan import LaunchPlan

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Where the job files are said to be, so that a script does not depend on where the checkout is.
DIRECTORY = "/home/ada/jobs"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job on a site, with `--set` texts."""

    name: str
    job: str
    site: str
    set: tuple[str, ...] = ()

    @property
    def golden(self) -> Path:
        """The script or the manifest as it is expected."""
        if self.read_site().scheduler == "kubernetes":
            return HERE / "manifests" / f"{self.name}.yaml"
        return HERE / "scripts" / f"{self.name}.sh"

    def expected(self, text: str, request: pytest.FixtureRequest) -> str:
        """The script or the manifest as it is expected; with --update-golden that is `text` from now on."""
        if request.config.getoption("--update-golden", default=False):
            self.golden.write_text(text, "utf-8", newline="")
        assert self.golden.exists(), "a new case: pytest tests/golden --update-golden"
        with self.golden.open(encoding="utf-8", newline="") as file:
            return file.read()

    def render(self, *more: str) -> str:
        """The text as it is made now, with `more` as further `--set` texts."""
        return script.render(self.plan(*more))

    def plan(self, *more: str) -> LaunchPlan:
        """What the text is made of."""
        file = ROOT / f"{self.job}.yaml" if "/" in self.job else HERE / "jobs" / f"{self.job}.yaml"
        job = parse_job(file.read_text("utf-8"), str(file), DIRECTORY, (*self.set, *more)).value
        site = self.read_site()
        machines = {group.type: catalogue.load(group.type).value for group in site.node_types}
        planner = Planner(site, machines)
        if job.sweep is None:
            return planner.plan(job)
        documents = Document("job", str(file), job, {}), Document("site", "", site, {})
        (planned,) = launches(*documents, planner)
        return planned.plan

    def read_site(self) -> Site:
        """The site: one of sites/, else a shipped one, whatever the user's own configuration has."""
        own = HERE / "sites" / f"{self.site}.yaml"
        shipped = ROOT / "site-configs" / f"{self.site}.yaml"
        return read_site(str(own if own.exists() else shipped)).value


def _cases(file: str) -> tuple[Case, ...]:
    return msgspec.convert(yaml.safe_load((HERE / file).read_text("utf-8")), tuple[Case, ...])


CASES = _cases("cases.yaml")
BATCH = [case for case in CASES if not case.name.startswith("local-")]
MANIFESTS = _cases("manifest-cases.yaml")
