"""Jobs of the scripts written for the tests render, or the site refuses them by a key that they have."""

import functools
import re
from pathlib import Path

import both_ways
import pytest
import script_cases
import yaml
from test_docker_scripts import SCRIPTS, cases, converted

from hpclaunch.cli.planning import plan_job
from hpclaunch.render import script
from hpclaunch.spec.job import Job
from hpclaunch.values.errors import InputError

SITES = Path(__file__).parents[2] / "site-configs"
# What superpod-a100 does not have, by the key that asks for it.
_NOT_ON_SLURM = {
    # SHARP, 16 GPUs on a node, and V100s
    "pyxis/resnet": ["fabric.sharp"],
    "plain_slurm/hetjob": ["groups.client.gpus_per_node"],
    "plain_slurm/propagated_options": ["groups.client.gpus_per_node"],
    "docker_ssh/array": ["gpus_per_node"],
    "docker_ssh/nodes": ["gpus_per_node"],
    "plain_slurm/modules": ["gpu_type"],
    "plain_slurm/separate_components": ["groups.act.gpu_type"],
    # an order of its nodes by which groups in one world are ordered
    "plain_slurm/hetjob_of_one_program": ["groups.solve-1"],
    "plain_slurm/hetjob_of_two_programs": ["groups.client", "groups.client-2"],
    # whole nodes, for scripts that took theirs by fewer GPUs
    "plain_slurm/masks": ["bind.cpus"],
    "docker_ssh/binder": ["bind.cpus", "bind.memory"],
    "docker_ssh/bound": ["bind.cpus"],
    "docker_ssh/slots": ["bind.cpus", "bind.memory"],
}


@functools.cache
def complete() -> dict[str, str]:
    """The job file of each script in which no question is open."""
    found = {}
    for family in ("pyxis", "plain_slurm"):
        for case in script_cases.cases(family):
            each = script_cases.converted(family, case, script_cases.expected(family, case))
            if each.job and each.is_complete:
                found[f"{family}/{case}"] = each.job
    for param in cases("docker_ssh"):
        told = yaml.safe_load(param.values[0].read_text("utf-8"))
        files = {name: (SCRIPTS / "docker_ssh" / name).read_text("utf-8") for name in told["files"]}
        each = converted(files, told.get("env"))
        if each.job and each.is_complete:
            found[f"docker_ssh/{param.id}"] = each.job
    return found


def keys_at(job: str) -> dict[tuple[int, int], str]:
    """The key, with those above it, that stands at a line and column, or whose value does."""
    found = {}

    def walk(node: yaml.Node, path: str) -> None:
        children = []
        if isinstance(node, yaml.MappingNode):
            children = [(key, value, f"{path}.{key.value}".strip(".")) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            children = [(each, each, f"{path}.{index}") for index, each in enumerate(node.value)]
        for key, value, name in children:
            for mark in (value.start_mark, key.start_mark):
                found.setdefault((mark.line + 1, mark.column + 1), name)
            walk(value, name)

    walk(yaml.compose(job), "")
    return found


def refused(job: str, folder: Path, site: str) -> list[str]:
    """The keys by which a site refuses the job; none where it renders."""
    file = folder / "job.yaml"
    file.write_text(job, "utf-8")
    try:
        script.render(plan_job(str(file), str(SITES / f"{site}.yaml"), ()).plan)
    except InputError as error:
        return [_named(str(each), job, file) for each in error.problems]
    return []


def _named(problem: str, job: str, file: Path) -> str:
    """The key that the message is about, which must be there, or else be named in it."""
    shown = re.match(rf"{re.escape(str(file))}:(\d+):(\d+): (.+)", problem, re.DOTALL)
    assert shown, problem
    key = keys_at(job).get((int(shown[1]), int(shown[2])))
    assert key, problem
    if key != "version":  # the file's first, for a key that is not there
        return key
    missing = [each for each in Job.__struct_fields__ if re.search(rf"\b{each}\b", shown[3])]
    missing = [each for each in missing if f"\n{each}:" not in job]
    assert missing, problem
    return f"no {missing[-1]}"


def test_a_slurm_site_refuses_only_what_it_does_not_have(tmp_path: Path) -> None:
    found = {case: refused(job, tmp_path, "superpod-a100") for case, job in complete().items()}
    assert len(found) > 60
    assert {case: keys for case, keys in found.items() if keys} == _NOT_ON_SLURM


@pytest.mark.parametrize("site", ["k8s-superpod-a100", "k8s-minimal", "openshift-dgx1-spectrumscale"])
def test_a_kubernetes_site_renders_the_job_or_names_keys(tmp_path: Path, site: str) -> None:
    found = {case: refused(job, tmp_path, site) for case, job in complete().items()}
    assert [case for case, keys in found.items() if not keys]
    without = [case for case, job in complete().items() if "\nimage:" not in job]
    assert [case for case, keys in found.items() if "no image" in keys] == without


@pytest.mark.parametrize(
    "lines",
    [
        "cd run\nsrun ./note run\n./note.sh after",
        "mkdir -p made\n./note.sh before\ncd run\nsrun ./note run\n./note.sh after\ncd ..\n./note.sh last",
        "cd run; ./note.sh before; cd deep; srun ../note run; ../note.sh after",
        "./note.sh before\n(cd run/deep; ./note.sh inside)\nsrun ./note run\n",
        "cd $SLURM_SUBMIT_DIR/run\n./note.sh before\nsrun ./note run\nrm -f x",
        "#SBATCH --chdir={top}/run\n./note.sh before\nsrun ./note run\ncd deep\n../note.sh after",
        "./note.sh before\nexport LD_LIBRARY_PATH=/opt/l\n./note.sh behind\nsrun ./note run\n",
    ],
)
def test_a_script_and_what_is_rendered_of_its_job_do_the_same_in_the_same_folders(
    lines: str, tmp_path: Path
) -> None:
    here, of_script = both_ways.run(lines, tmp_path)
    assert here == of_script
    assert len(here) == lines.count("note")
