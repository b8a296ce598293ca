"""What the site of a plan says of itself, for a comparison of what is launched there."""

import os.path

from msgspec import structs

from hpclaunch.cli.planning import Planned
from hpclaunch.plan import gpukind
from hpclaunch.readback.place import Form, Place
from hpclaunch.spec.kubernetes import rdma_resource
from hpclaunch.spec.site import Site, Volume


def place(planned: Planned) -> Place:
    """The site's names of volumes and devices, its nodes, and the variables that are not the job's."""
    job, site, plan = planned.job.value, planned.site.value, planned.plan
    shapes = plan.common.shapes
    machine = planned.machines[shapes[0].node_type].value
    parts = (place(structs.replace(planned, plan=part)) for part in plan.parts)
    return Place(
        name=site.name,
        volumes=volumes(site, job.directory),
        variables={each.name: each.value for each in plan.common.environment if each.origin != "job"},
        node_types={shape.hosts if len(shapes) > 1 else "": shape.node_type for shape in shapes},
        gpus_of_node=gpukind.of_a_node(job, site, machine),
        rdma=_rdma(site),
        networks=site.kubernetes.networks if site.kubernetes else (),
        secrets=_secrets(site),
        parts=tuple(parts),
    )


def volumes(site: Site, folder: str) -> dict[str, Form]:
    """The forms of the site's volumes; relative paths start from `folder`, that of the job file."""
    return {name: _form(volume, site, folder) for name, volume in site.volumes.items()}


def _form(volume: Volume, site: Site, folder: str) -> Form:
    """On Kubernetes a path is what a volume is where it is nothing else."""
    if site.scheduler == "kubernetes":
        if volume.claim is not None:
            return "claim", volume.claim, volume.folder or ""
        if volume.nfs is not None:
            return "nfs", f"{volume.nfs.server}:{volume.nfs.path}", ""
        if volume.config_map is not None:
            return "config map", volume.config_map, ""
        if volume.empty_dir is not None:
            return "empty", "memory" if volume.empty_dir.memory else "", ""
    return "path", os.path.normpath(os.path.join(folder, volume.path or "")), ""


def _rdma(site: Site) -> dict[str, str] | None:
    if site.kubernetes is None:
        return None
    return {hca: rdma_resource(name) for hca, name in site.kubernetes.rdma.items()}


def _secrets(site: Site) -> dict[str, str]:
    kept = site.kubernetes.secrets if site.kubernetes else {}
    return {variable: f"{each.name}/{each.key}" for variable, each in kept.items()}
