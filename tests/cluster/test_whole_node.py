"""What `site check` holds nodes and quotas against is what a job on a whole node asks for."""

from pathlib import Path

import pytest
from kubernetes_sites import SHARED, job_file, site_file

from hpclaunch.cli.planning import machines_of, plan_job
from hpclaunch.cluster.wholenode import whole_node
from hpclaunch.spec.read import read_site
from hpclaunch.values.pods import KubernetesTarget

GROUPS = {
    "nothing said": "",
    "CPUs of the system": ', reserved_cpus: "0-7"',
    "allocatable": ", allocatable: {cpu: 60, memory: 500500Mi}",
    "small memory": ", allocatable: {memory: 1000Mi}",
}


@pytest.mark.parametrize("more", GROUPS.values(), ids=GROUPS)
def test_a_whole_node(tmp_path: Path, more: str) -> None:
    site = site_file(tmp_path, 'mpi_operator: "0.8.0"', SHARED, "hugepages: {2Mi: 1Gi}")
    site.write_text(site.read_text().replace("count: 2", "count: 2" + more))
    target = plan_job(str(job_file(tmp_path)), str(site), ()).plan.target
    assert isinstance(target, KubernetesTarget)
    document = read_site(str(site))
    assert whole_node(document.value, machines_of(document), 0) == dict(target.worker.limits)
