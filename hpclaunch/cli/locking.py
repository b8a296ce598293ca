"""What a record keeps so that its run can be repeated and compared."""

import os

from hpclaunch.cli.planning import Planned
from hpclaunch.records import lock, repository
from hpclaunch.values.image import is_file
from hpclaunch.values.launchplan import LaunchPlan


def begin(job_file: str) -> None:
    """Lets git look at the job file's folder, while the job is planned."""
    begin_in(os.path.dirname(os.path.abspath(job_file)))


def begin_in(folder: str) -> None:
    """The same for a folder."""
    repository.look(folder)


def kept(planned: Planned) -> dict[str, bytes]:
    """The files of the lock. No trouble with the image or with git is an error."""
    return lock.files_of(of_plan(planned), planned.job.value.directory, secrets_of(planned))


def secrets_of(planned: Planned) -> dict[str, str]:
    """The values of the job's secrets in this shell."""
    return {name: os.environ[name] for name in planned.plan.common.secrets if name in os.environ}


def of_plan(planned: Planned) -> lock.Lock:
    """The lock, without what git says."""
    common, site = planned.plan.common, planned.site.value
    slurm, kubernetes = site.slurm, site.kubernetes
    versions = {
        "slurm": slurm.version if slurm is not None else None,
        "pyxis": slurm.pyxis if slurm is not None else None,
        "mpi_operator": kubernetes.mpi_operator if kubernetes is not None else None,
    }
    return lock.Lock(
        site_file=os.path.abspath(planned.site.file),
        versions={name: version for name, version in versions.items() if version},
        environment=lock.environment(common.inherit, common.secrets, os.environ),
        image=_image(planned.plan, planned.job.value.directory, site.ssh is not None),
        repository=None,
    )


def _image(plan: LaunchPlan, directory: str, elsewhere: bool) -> lock.Image | None:
    if plan.common.container is None:
        return None
    name, shared = plan.common.container.image, plan.common.container.shared
    if shared:
        return lock.image_shared(name, shared, elsewhere)
    if plan.scheduler == "kubernetes" or not is_file(name):
        return lock.image_of_reference(name)
    if elsewhere:
        return lock.image_elsewhere(name)
    return lock.image_of_file(name, os.path.normpath(os.path.join(directory, name)))
