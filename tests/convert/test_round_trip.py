"""What a launcher and the job that it became do otherwise is found, and explained."""

import os
import re
from pathlib import Path

import msgspec
import pytest
import script_cases

from hpclaunch.cli.convert import _renderer
from hpclaunch.cli.places import volumes
from hpclaunch.convert import conversion, inputs, sources
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.options import Options
from hpclaunch.convert.reasons import Known, Original, explained, of_binding
from hpclaunch.convert.roundtrip import differences
from hpclaunch.readback.shell.values import Value
from hpclaunch.report.conversion import markdown
from hpclaunch.report.conversion import text as as_text
from hpclaunch.spec.read import read_site
from hpclaunch.values.conversion import Finding
from hpclaunch.values.launch import Difference

ROOT = Path(__file__).resolve().parents[2]
SITE = read_site(str(ROOT / "site-configs" / "superpod-a100.yaml"))
SCRIPT = """#!/bin/bash
#SBATCH --job-name=train --nodes=2 --gpus-per-node=8 --time=30
export LR=0.1
srun --ntasks-per-node=8 --mpi=pmix --container-image=nvcr.io#nvidia/mxnet:21.09-py3 \\
  --container-mounts=/raid/sets:/data:ro --container-workdir=/work --kill-on-bad-exit=1 python train.py
"""


def options(environment: dict[str, str]) -> Options:
    return Options(environment, None, SITE.value.name, _renderer(SITE))


# Lines of a job file, as somebody could change them, by what is otherwise then.
OTHERS = {
    "nodes": (r"^nodes: \d+", "nodes: 7"),
    "ranks on a node": (r"^ranks_per_node: \d+", "ranks_per_node: 3"),
    "time limit": (r"^time: \S+", "time: 77"),
}


@pytest.mark.parametrize("case", script_cases.cases("pyxis"))
def test_each_difference_is_explained_and_a_change_of_the_job_is_not(case: str) -> None:
    told = script_cases.expected("pyxis", case)
    names = [os.path.join(script_cases.folder("pyxis", case), name) for name in told["inputs"]]
    given, at = inputs.read_inputs(names), options(told.get("env", {}))
    found = conversion.convert(given, at)
    if "not_compared" in told:
        assert found.differences is None
        assert told["not_compared"] in found.not_compared
        return
    if not found.is_complete:
        return
    assert found.differences is not None
    assert [each for each in found.differences if not each.why] == []
    assert not [each for each in found.differences if "the report" in each.why]  # which is what says it
    reading = sources.read(given, told.get("env", {}), Draft())
    shown = 0
    for what, (line, other) in OTHERS.items():
        job = re.sub(line, other, found.job, count=1, flags=re.MULTILINE)
        after = differences(reading, job, found.findings, at) or ()
        if job != found.job and not any(each.a == "launched" for each in after):  # the site takes it
            assert [each.why for each in after if each.what == what] == [""], what
            shown += 1
    assert shown or any(each.a == "launched" for each in found.differences)  # it takes none of it


def changed(old: str, new: str) -> tuple[set[str], tuple[Difference, ...]]:
    """What is otherwise when somebody changes the job that the script became."""
    given = inputs.classified({"run.sub": SCRIPT})
    found = conversion.convert(given, options({}))
    assert old in found.job
    reading = sources.read(given, {}, Draft())
    after = differences(reading, found.job.replace(old, new), found.findings, options({}))
    assert after is not None
    assert found.differences is not None
    return {each.what for each in after} - {each.what for each in found.differences}, after


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("nodes: 2", "nodes: 3", "nodes"),
        ("ranks_per_node: 8", "ranks_per_node: 4", "ranks on a node"),
        ("gpus_per_node: 8", "gpus_per_node: 4", "GPUs on a node"),
        ("mxnet:21.09-py3", "mxnet:21.10-py3", "image"),
        ("train.py", "test.py", "command, word 1"),
        (":/data:ro", ":/data", "mount /data: access"),
        ("workdir: /work", "workdir: /works", "working folder"),
        ('LR: "0.1"', 'LR: "0.2"', "environment LR"),
        ('time: "00:30:00"', "time: 31", "time limit"),
    ],
)
def test_a_job_that_was_changed_shows(old: str, new: str, what: str) -> None:
    more, after = changed(old, new)
    assert what in more, after
    assert [each.why for each in after if each.what in more] == [""] * len(more)


JOB = """version: 1
name: t
command: [./t]
gpus_per_node: 8
workdir: /work
rendezvous: torch
env: {LR: "0.1"}
inherit: [HOSTS]
mounts: ["./x:/x", "/d:/data"]
trials: {count: 3, seed: SEED}
"""
SAID = [
    Finding("carried", (), "./t", "command: ./t"),
    Finding("assumed", (), "GPUs", "gpus_per_node: 8"),
    Finding("carried", (), "--container-workdir", "workdir: /work"),
    Finding("replaced", (), "WALLTIME=5", why="the job's own keys say it"),
    Finding("replaced", (), "LR=0.2", why="not of this LR"),
    Finding("left", (), "mount tmpfs:/t", why="a job file has no mount of that kind"),
    Finding("assumed", (), "SEED", "not set", why="nobody gave it"),
]
TOLD = Finding("carried", (), "./t", "command: ./t", why="it is told")
NUMACTL = (("numactl",), ("--membind=0",), ("./t",))


@pytest.mark.parametrize(
    ("what", "a", "b", "why"),
    [
        ("environment NCCL_X", "-", "ib0", "set by the site"),
        ("environment LR", "-", "0.1", ""),  # the job says it, and no site
        ("environment HOSTS", "-", "the submitter's", ""),
        ("environment WALLTIME", "5", "-", "the job's own keys"),
        ("environment LR", "0.2", "0.1", ""),
        ("environment OTHER", "the submitter's", "-", "in the original it depends"),
        ("environment OTHER", "made by the script", "-", "in the original it depends"),
        ("environment OTHER", "the submitter's", "5", ""),
        ("environment SEED", "the submitter's", "-", "`trials` sets it"),
        ("environment MASTER_ADDR", "made by the script", "-", "`rendezvous` sets it"),
        ("environment MASTER_ADDR", "made by the script", "n1", ""),
        ("environment MASTER_NODE", "made by the script", "-", "in the original it depends"),
        ("environment OTHER", "5", "6", ""),
        ("mount /x", "-", "path /here/x", "in the original it depends"),
        ("mount /data", "-", "path /d", ""),
        ("mount /y", "-", "path /y", ""),
        ("mount /t", "empty", "-", "a job file has no mount"),
        ("mount /u", "empty", "-", ""),
        ("mount /z", "path ./a/b", "path /here/a/b", "a relative path"),
        ("mount /z", "path ./a/b", "path /here/a/c", ""),
        ("mount /z", "path /a", "path /b", ""),
        ("mount /data: access", "read-only", "read-write", ""),
        ("command from word 0 on", "numactl --membind=0 ./t", "./t", "the words before it bound"),
        ("GPUs on a node", "0", "8", "the original asks Slurm for none"),
        ("GPUs on a node", "0", "4", ""),
        ("GPUs on a node", "4", "8", ""),
        ("kind of GPU", "any", "h100", "the name that the site's Slurm has"),
        ("kind of GPU", "a100", "h100", ""),
        ("working folder", "the image's own", "/work", "unset in the original"),
        ("working folder", "/home", "/work", ""),
        ("working folder", "the image's own", "/other", ""),
        ("one failing rank ends all", "no", "yes", "the first rank that fails"),
        ("one failing rank ends all", "yes", "no", ""),
        ("retries after a failure", "without end", "0", "a job never runs twice"),
        ("retries after a failure", "0", "without end", ""),
        ("nodes", "2", "3", ""),
        ("image", "a/b:1", "a/b:2", ""),
    ],
)
def test_a_reason_is_one_for_its_own_values_alone(what: str, a: str, b: str, why: str) -> None:
    known = Known(Original(NUMACTL, (), frozenset(("/x",))), JOB, ("./t",), SAID, ())
    found = explained(Difference(what, a, b), known)
    assert bool(found) == bool(why)
    assert found.startswith(why)


@pytest.mark.parametrize(
    ("words", "rendered", "said", "why"),
    [
        ((("./t",),), ("./t", "more"), SAID, ""),  # the job has the original's words, and its script others
        (NUMACTL, ("./u",), SAID, ""),
        (NUMACTL, ("./t",), SAID[1:], ""),  # nobody said that this is the job's command
        ((("python",), ("./t",)), ("./t",), SAID, ""),  # python binds nobody
        (NUMACTL, ("./t",), SAID, "the words before it bound"),
        ((("torchrun",), ("./u",)), ("./t",), SAID, ""),
        ((("python",), ("./t",)), ("./t",), [TOLD, *SAID[1:]], "it is told"),
    ],
)
def test_other_words_of_a_command_have_a_reason_where_the_report_gives_one(
    words: tuple[Value, ...], rendered: tuple[str, ...], said: list[Finding], why: str
) -> None:
    known = Known(Original(words, (), frozenset()), JOB, rendered, said, ())
    found = explained(Difference("command from word 0 on", "a", "b"), known)
    assert bool(found) == bool(why)
    assert found.startswith(why)


_SHOWN = "$(scontrol show hostnames | head -1)"


@pytest.mark.parametrize(
    ("words", "command", "why"),
    [
        (["./t", f"--at={_SHOWN}"], 'exec ./t --at="$MASTER_ADDR"', "MASTER_ADDR"),
        (["./t", "a"], 'export LD=/x:"$LD"; exec ./t a', "LD"),
        (["./t", f"--at={_SHOWN}"], 'exec ./u --at="$MASTER_ADDR"', ""),
        (["./t", f"--at={_SHOWN}", "x"], 'exec ./t --at="$MASTER_ADDR"', ""),
        (["./t", "a"], "exec ./t b", ""),
        (["./t", "a"], "./t a", ""),
    ],
)
def test_what_only_a_rank_knows_is_a_reason_for_a_text(words: list[str], command: str, why: str) -> None:
    job = f"version: 1\nname: t\ncommand: {msgspec.json.encode(command).decode()}\n"
    said = [Finding("carried", (), "it", f"command: {command}")]
    original = Original(tuple((word,) for word in words), (), frozenset())
    known = Known(original, job, ("/bin/sh", "-c", command), said, ())
    found = explained(Difference("command from word 0 on", "a", "b"), known)
    assert found.rpartition(": ")[2] == why


@pytest.mark.parametrize(
    ("words", "a", "b", "why"),
    [
        ("torchrun --nproc_per_node=8 t.py", "1", "8", "torchrun started"),
        ("torchrun --nproc_per_node=4 t.py", "1", "8", ""),
        ("torchrun --nproc_per_node=4 t.py", "2", "8", "torchrun started"),
        ("torchrun --nproc_per_node=gpu t.py", "1", "8", "torchrun started"),
        ("torchrun --nproc_per_node=8 t.py", "1", "4", ""),  # which is not what the job has
        ("python t.py", "1", "8", ""),
    ],
)
def test_more_ranks_are_the_processes_of_a_launcher(words: str, a: str, b: str, why: str) -> None:
    original = Original(tuple((word,) for word in words.split()), (), frozenset())
    known = Known(original, f"{JOB}ranks_per_node: 8\n", ("./t",), SAID, ())
    found = explained(Difference("ranks on a node", a, b), known)
    assert found.startswith(why)
    assert bool(found) == bool(why)


@pytest.mark.parametrize(
    ("option", "bind", "told"),
    [
        ("--cpu-bind=map_cpu:0,8", "cpus: ['0', '8'], memory: none", None),
        ("--cpu-bind=v,mask_cpu:0x3,0x300", "cpus: [0-1, '8,9'], memory: none", None),
        ("--cpu-bind=map_cpu:0,8", "cpus: ['0', '8', '0', '8'], memory: none", None),  # srun begins again
        ("--cpu-bind=map_cpu:0,8", "cpus: ['0', '9'], memory: none", "cpus 0 9, memory none"),
        ("--cpu-bind=map_cpu:0,8", "cpus: ['0', '8'], memory: ['0', '1']", "cpus 0 8, memory 0 1"),
        ("--mem-bind=map_mem:0,1", "memory: ['0', '1']", None),
        ("--mem-bind=map_mem:0,1", "memory: ['1', '0']", "memory 1 0"),
    ],
)
def test_lists_of_the_original_and_of_the_job_are_compared(option: str, bind: str, told: str | None) -> None:
    job = f"{JOB}bind: {{{bind}}}\n"
    found = of_binding(Known(Original(NUMACTL, (option,), frozenset()), job, ("./t",), [], ()))
    assert (found.b if found is not None else None) == told
    assert found is None or (found.a, found.why) == (option, "")


def test_a_job_for_kubernetes_is_compared_as_its_manifest_is_read() -> None:
    site = read_site(str(ROOT / "site-configs" / "k8s-superpod-a100.yaml"))
    at = Options({}, None, site.value.name, _renderer(site), volumes(site.value, "/"))
    given = inputs.classified({"run.sub": SCRIPT})
    found = conversion.convert(given, at)
    assert found.differences
    assert [each for each in found.differences if not each.why] == []
    assert not {"nodes", "ranks on a node", "GPUs on a node", "image"} & {
        each.what for each in found.differences
    }
    after = differences(sources.read(given, {}, Draft()), found.job.replace("nodes: 2", "nodes: 3"), (), at)
    assert after is not None
    assert ("nodes", "2", "3", "") in {(each.what, each.a, each.b, each.why) for each in after}


def test_what_the_user_set_is_a_reason_for_what_the_job_has_of_it() -> None:
    told = [*SAID, Finding("carried", (), "nodes", "nodes: 3")]
    for job, why in (("nodes: 3", "--set nodes says so"), ("nodes: 4", "")):
        known = Known(Original(NUMACTL, (), frozenset()), f"{JOB}{job}\n", ("./t",), told, ("nodes=3",))
        assert explained(Difference("nodes", "2", job[-1]), known) == why


@pytest.mark.parametrize(
    ("binding", "job", "said", "told"),
    [
        ((), "", [], ("its own", "beside the GPU", "ranks are bound beside their GPU")),
        ((), "bind: {cpus: none}\n", [], ("its own", "cpus none", "")),
        ((), "bind: {cpus: none}\n", ["bind.cpus: none"], ("its own", "cpus none", "what `bind`")),
        (("--cpu-bind=rank",), "", [], ("--cpu-bind=rank", "beside the GPU", "")),
    ],
)
def test_what_bound_the_original_is_told_with_it(
    binding: tuple[str, ...], job: str, said: list[str], told: tuple[str, str, str]
) -> None:
    findings = [Finding("carried", (), "it", each) for each in said]
    found = of_binding(Known(Original(NUMACTL, binding, frozenset()), JOB + job, ("./t",), findings, ()))
    assert (found.a, found.b) == told[:2]
    assert found.why.startswith(told[2])
    assert bool(found.why) == bool(told[2])


def test_what_srun_is_told_to_hand_on_is_no_site_s_doing() -> None:
    text = SCRIPT.replace("srun ", "MODE=fast srun --export=ALL,STEP=3 ")
    found = conversion.convert(inputs.classified({"run.sub": text}), options({}))
    assert found.differences is not None
    assert "STEP" in found.job
    assert not {"environment MODE", "environment STEP"} & {each.what for each in found.differences}


@pytest.mark.parametrize(
    ("option", "told"),
    [("", "beside the GPU"), ("--cpu-bind=none", "cpus none, memory none"), ("--wait=60", "beside the GPU")],
)
def test_where_ranks_sit_in_the_job_is_told_as_the_job_has_it(option: str, told: str) -> None:
    given = inputs.classified({"run.sub": SCRIPT.replace("srun ", f"srun {option} ")})
    found = conversion.convert(given, options({}))
    assert found.differences is not None
    assert [each.b for each in found.differences if each.what == "binding of ranks"] == [told]
    assert not any("trial" in each.why for each in found.findings)


def test_what_the_site_refuses_is_said() -> None:
    _, after = changed("gpus_per_node: 8", "gpus_per_node: 80")
    assert [(each.what, each.kind) for each in after] == [("the job at superpod-a100", "unbridged")]
    assert "80" in after[0].why


def test_a_script_in_the_container_that_sbatch_is_asked_for_is_compared_too() -> None:
    """No srun: the whole script is one process in the container, on the first node."""
    script = "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:8 -t 10 --container-image=a/b:1\npython t.py\n"
    given = inputs.classified({"run.sub": script})
    found = conversion.convert(given, options({}))
    assert found.differences is not None
    assert {"image", "nodes", "ranks on a node"}.isdisjoint(each.what for each in found.differences)
    reading = sources.read(given, {}, Draft())
    for old, new, what in (
        ("a/b:1", "a/b:2", "image"),
        ("t.py", "u.py", "command, word 1"),
        ("ranks_per_node: 1", "ranks_per_node: 8", "ranks on a node"),
    ):
        after = differences(reading, found.job.replace(old, new), found.findings, options({}))
        assert after is not None
        assert what in {each.what for each in after}


SBATCH = "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:8 -t 10\n"
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: a/b:1
    command: [python, t.py]
    resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(
    ("name", "text", "site", "words"),
    [
        ("run.sub", SCRIPT, False, "--site"),
        ("run.sub", SCRIPT.replace(" --mpi=pmix", ""), True, "questions are open"),
        ("run.sub", SBATCH + "mpirun -np 8 ./x\n", True, "in a container of Pyxis"),
        ("run.sub", SBATCH + "srun docker run --gpus 8 -v /d:/d a/b:1 python t.py\n", True, "of Pyxis"),
        ("pod.yaml", POD, True, "in a container of Pyxis"),
    ],
)
def test_what_is_not_compared_is_said_with_the_reason(name: str, text: str, site: bool, words: str) -> None:
    found = conversion.convert(inputs.classified({name: text}), options({}) if site else Options({}))
    assert found.job
    assert found.differences is None
    assert words in found.not_compared
    for report in (as_text(found), markdown(found)):
        (line,) = (line for line in report.splitlines() if "ot compared: " in line)
        assert " ".join(found.not_compared.split()[:5]) in line


def test_a_launcher_that_is_refused_has_nothing_to_compare() -> None:
    found = conversion.convert(inputs.classified({"run.sub": "#!/bin/bash\necho a\n"}), options({}))
    assert (found.job, found.differences, found.not_compared) == ("", None, "")


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("export NAME=$OTHER", "the submitter's"),
        ("export NAME=$(scontrol show hostnames | head -n 1)", "made by the script"),
        ("export NAME=$OTHER/$(hostname)", "made by the script"),
    ],
)
def test_what_commands_of_the_script_make_is_not_the_submitter_s(line: str, source: str) -> None:
    given = inputs.classified({"run.sub": SCRIPT.replace("srun", f"{line}\nsrun", 1)})
    reading = sources.read(given, {}, Draft())
    found = differences(
        reading, conversion.convert(inputs.classified({"run.sub": SCRIPT}), options({})).job, (), options({})
    )
    assert [each.a for each in found or () if each.what == "environment NAME"] == [source]
