"""A report says each fact of a launch once, whatever the input is: what is not told is said to be so."""

from pathlib import Path
from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified, read_inputs
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import for_json, markdown, text
from hpclaunch.values.conversion import Conversion

_HERE = Path(__file__).parent
_INPUTS = [
    *sorted(_HERE.glob("scripts/**/*.sub")),
    *sorted(each for each in _HERE.glob("manifests/cases/*.yaml") if ".expected" not in each.name),
]
_KEYS = {
    "nodes": ("nodes",),
    "ranks": ("ranks_per_node",),
    "GPUs": ("gpus_per_node", "gpu_type"),
    "image": ("image",),
    "mounts": ("mounts",),
    "environment": ("env", "inherit", "secrets"),
    "mpi": ("mpi",),
    "time limit": ("time",),
    "binding": ("bind",),
}
_ONE_CORE = "local, the default: one core for each rank"
_SINGULARITY = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4\nmpirun -np 8 singularity exec -B /d x.sif ./t\n"


def _of(script: str) -> Conversion:
    return convert(classified({"run.sub": script}), Options({}))


def _facts(found: Conversion) -> dict[str, Any]:
    return {each.name: each for each in found.launch}


def _values(job: dict[str, Any], key: str) -> list[Any]:
    """All that a job says of a key, each of its groups too."""
    parts = [job, *job.get("groups", {}).values()]
    return [part[key] for part in parts if key in part]


def _asks(value: Any) -> bool:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value == ASK or any(map(_asks, below))


@pytest.mark.parametrize("path", _INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_fact_is_there_once_and_as_the_job_file_has_it(path: Path) -> None:
    found = convert(read_inputs([str(path)]), Options({}))
    facts = _facts(found)
    assert list(facts) == list(_KEYS) == [each.name for each in found.launch]
    if not found.job:
        assert {each.state for each in found.launch} <= {"told", "asked", "not determined"}
        return
    job = loaded(found.job)
    for name, keys in _KEYS.items():
        values = [value for key in keys for value in _values(job, key)]
        states = {"asked" if any(map(_asks, values)) else "told"} if values else {"default"}
        # What is told of mounts or an image that the job has not is that they are not carried over.
        states |= (
            {"told", "not determined"} if not values and name in ("mounts", "image", "environment") else set()
        )
        # More of them may be in what nobody knows, beside those that the job has.
        states |= {"not determined"} if "; not determined: " in facts[name].told else set()
        assert (name, facts[name].state in states) == (name, True)
        assert facts[name].places or not values


def test_what_a_refused_launcher_does_not_tell_is_not_determined() -> None:
    found = _of(_SINGULARITY)
    assert not found.job
    told = {name: (each.state, each.told) for name, each in _facts(found).items()}
    assert told == {
        "nodes": ("told", "2"),
        "ranks": ("told", "4 on each node"),
        "GPUs": ("told", "4 on each node"),
        "image": ("told", "x.sif, which is not carried over"),
        "mounts": ("told", "/d:/d"),
        "environment": ("not determined", "not determined"),
        "mpi": ("told", "pmix"),
        "time limit": ("not determined", "not determined"),
        "binding": ("told", "cpus: local"),
    }


@pytest.mark.parametrize("starts", ["srun --mpi=pmix singularity exec x.sif ./t", "srun --mpi=pmix ./t"])
def test_the_gpus_of_whole_nodes_are_all_of_each_also_where_the_launcher_is_refused(starts: str) -> None:
    found = _of(f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\n#SBATCH --exclusive\n{starts}\n")
    gpus = _facts(found)["GPUs"]
    assert (gpus.told, [each.line for each in gpus.places]) == (
        "all of each node, which the job file need not say",
        [3],
    )
    assert gpus.state == ("told" if "singularity" in starts else "default")


@pytest.mark.parametrize("script", ["#!/bin/csh\nsrun ./t\n", "echo nothing\n", "#PBS -l nodes=2\n./t\n"])
def test_an_input_that_nobody_reads_has_all_of_them_too(script: str) -> None:
    assert list(_facts(_of(script))) == list(_KEYS)


def test_what_each_group_has_stands_beside_its_name() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:8 -t 5\n#SBATCH hetjob\n#SBATCH -N 1 --gres=gpu:1\n"
    run = "srun --mpi=pmix --het-group=0 --ntasks-per-node=8 ./t : --het-group=1 --ntasks=1 ./s\n"
    facts = _facts(_of(head + run))
    assert (facts["nodes"].told, facts["ranks"].told) == (
        "t: 2, s: 1",
        "t: 8 on each node, s: 1 on each node",
    )


def test_secrets_are_named_and_a_list_is_cut() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:1 -t 5\nexport API_TOKEN=tok-8c1f7a20b9e34d\n"
    found = _of(f"{head}export A=1 B=2 C=3 D=4\nsrun --mpi=none ./t\n")
    assert _facts(found)["environment"].told == "A, B, C, and 2 more"
    for said in (text(found), markdown(found), str(for_json(found))):
        assert "8c1f7a20b9e34d" not in said


def test_the_report_begins_with_them() -> None:
    found = _of("#!/bin/bash\n#SBATCH -N 2 --gres=gpu:8 --ntasks-per-node=8\nsrun --mpi=pmix ./t\n")
    lines = text(found).splitlines()
    rows = {line[2:15].strip(): line for line in lines[lines.index("The launch") :]}
    assert rows["ranks"].split() == ["ranks", "8", "on", "each", "node", "run.sub:2"]
    assert rows["time limit"].endswith("no line tells it")
    assert "| ranks | 8 on each node | run.sub:2 |" in markdown(found)
    assert [each["name"] for each in for_json(found)["launch"]] == list(_KEYS)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("source env.sh", "not determined: what env.sh sets"),
        ("source env.sh\nexport A=1", "A; not determined: what env.sh sets"),
        ("source /etc/profile\nexport A=1", "A"),
        (
            "export $(grep -v '#' .env | xargs)",
            "not determined: what export $(grep -v '#' .env | xargs) sets",
        ),
    ],
)
def test_what_sets_variables_that_nobody_knows_is_told(lines: str, told: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:4 --ntasks-per-node=4 -t 5\n"
    assert _facts(_of(f"{head}{lines}\nmpirun ./t\n"))["environment"].told == told


def test_what_a_variable_of_options_holds_is_told_of_mounts_and_environment() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=2 -t 9\n"
    for start in ("enroot start $(./opts) /i/a.sqsh ./t", "srun docker run $(./opts) -v /a:/b lab/t:1 ./t"):
        facts = _facts(_of(f"{head}{start}\n"))
        for name in ("mounts", "environment"):
            assert "not determined: what " in facts[name].told
            assert "$(./opts)" in facts[name].told
            assert facts[name].state == "not determined"
    assert facts["mounts"].told.startswith("/a:/b; ")


def test_a_variable_with_the_name_of_a_mount_is_none() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -t 9\nfor mount in $(./dirs); do mkdir -p ${mount}; done\nsrun ./t\n"
    assert _facts(_of(text))["mounts"].told == "none"


def test_a_script_that_is_not_given_may_start_a_container() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=2 -t 9\n"
    told = [
        _facts(_of(f"{head}{start}\n"))["image"].told
        for start in ("srun ./each.sh a", "./all.sh", "srun ./t")
    ]
    assert told == [
        "none, unless ./each.sh, which is not given, starts a container",
        "none, unless ./all.sh, which is not given, starts a container",
        "none: the ranks run on the host",
    ]
    given = convert(
        classified({"run.sub": f"{head}srun ./each.sh\n", "each.sh": "#!/bin/sh\n./t\n"}), Options({})
    )
    assert _facts(given)["image"].told == "none: the ranks run on the host"


def test_a_line_that_starts_a_container_when_nobody_knows_is_named() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=2 -t 9\n"
    handed = "each() {\n  apptainer exec --nv t.sif ./t $1\n}\nexport -f each\nparallel each {} ::: 1 2\n"
    image = _facts(_of(f"{head}{handed}"))["image"]
    assert (image.told, str(image.places[0])) == (
        "none that is told of the ranks; a line has the words that start a container",
        "run.sub:4",
    )
    for line in (
        "docker-gpu run lab/t:1 ./t",
        "srun singularity shell t.sif",
        "./t podman-hpc.py run t:1",
    ):
        its = _facts(_of(f"{head}{line}\n"))["image"]
        assert (its.told, str(its.places[0])) == (image.told, "run.sub:3")
    for line in ("# apptainer exec t.sif ./t", "echo docker run lab/t:1", "apptainer build t.sif t.def"):
        assert _facts(_of(f"{head}{line}\nsrun ./t\n"))["image"].told == "none: the ranks run on the host"


@pytest.mark.parametrize(
    ("gpus", "told"), [(2, "local, the default: the cores beside the rank's GPU"), (0, _ONE_CORE)]
)
def test_a_rank_has_the_cores_beside_its_gpu_only_where_there_is_one(gpus: int, told: str) -> None:
    limits = f", resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}" if gpus else ""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
    pod += f"  - {{name: c, image: lab/t:1, command: [./t]{limits}}}\n"
    found = convert(classified({"pod.yaml": pod}), Options({}))
    assert _facts(found)["binding"].told == told
    assert any(each.became == f"bind.cpus: {told}" for each in found.findings)
    script = f"#!/bin/bash\n#SBATCH -N 1 -n 2 --gpus-per-node={gpus}\nsrun --mpi=pmix ./t\n"
    of_srun = next(each for each in _of(script).findings if each.what == "srun without --cpu-bind")
    assert ("one core, as the job has no GPUs" in of_srun.why) == (gpus == 0)
    assert ("beside its GPU" in of_srun.why) == (gpus > 0)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("export PATH=/opt/tools/bin:$PATH\nsrun ./solve", "PATH by the command"),
        (
            "export SEED=4\nexport LD_LIBRARY_PATH=/opt/x:$LD_LIBRARY_PATH\nsrun ./solve $SEED",
            "SEED; LD_LIBRARY_PATH by the command",
        ),
        ("export PATH=/opt/tools/bin:$PATH\nsrun ./solve $1", "PATH by the command"),
        ("srun bash -c 'export SEED=4 MODE=\"a b=c\"; export PACE; ./solve'", "SEED, MODE by the command"),
        ("export SEED=4\nsrun bash -lc 'export MODE=2\nexport SEED=5\n./solve'", "SEED; MODE by the command"),
        ("srun bash -c 'echo \"export SEED=4\" > f; ./solve'", "none"),
        ("srun ./solve -c 'export SEED=4'", "none"),
        ("srun bash -c 'cd a; LD_PRELOAD=/x.so N=\"a b\" ./solve K=3'", "LD_PRELOAD, N by the command"),
        ("srun bash -c 'N=3; ./solve --n $N'", "none"),
        ("srun ./solve", "none"),
    ],
)
def test_what_the_command_exports_is_of_the_environment(lines: str, told: str) -> None:
    fact = _facts(_of(f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\n{lines}\n"))["environment"]
    assert fact.told == told
    assert bool(fact.places) == (told != "none")


_OF_RANKS = """#!/bin/bash
# don't export NOT=1
export UCX_TLS=rc HOST_LIB="a b"  # export NOR=1
STEPS=3
PACE=4; export PACE
IFS=, read -ra LIST <<< a,b
cat > later.sh <<EOF
export H=1
EOF
"""


@pytest.mark.parametrize(
    ("lines", "of_ranks", "told"),
    [
        ("srun bash work.sh", _OF_RANKS + "./solve $STEPS", "UCX_TLS, HOST_LIB, PACE by the command"),
        ("export SEED=4\nsrun ./work.sh", "export SEED=5 N=2\n./solve", "SEED; N by the command"),
        ("srun ./work.sh", "[ -d /raid ] && export CACHE=/raid\n./solve", "CACHE by the command"),
        ("srun ./work.sh", "LD_PRELOAD=/x.so ./solve", "LD_PRELOAD by the command"),
        ("srun ./work.sh", "N=2\n./solve $N", "none"),
        ("srun ./work.sh", "export A='\n./solve", "none"),
    ],
)
def test_what_a_script_of_the_ranks_exports_is_of_the_environment(
    lines: str, of_ranks: str, told: str
) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\n"
    files = {"run.sh": f"{head}{lines}\n", "work.sh": f"{of_ranks}\n"}
    fact = _facts(convert(classified(files), Options({})))["environment"]
    assert fact.told == told
    assert bool(fact.places) == (told != "none")


@pytest.mark.parametrize(
    ("sources", "env", "told", "places"),
    [
        ("[configMapRef: {name: m}]", "[]", "not determined: what the config map m sets", 1),
        (
            "[secretRef: {name: s}, configMapRef: {name: m}]",
            "[{name: A, value: x}]",
            "A; not determined: what the Secret s, the config map m sets",
            2,
        ),
        ("[configMapRef: {name: given}]", "[]", "B", 1),
    ],
)
def test_all_of_an_object_that_is_not_given_is_not_no_environment(
    sources: str, env: str, told: str, places: int
) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n"
    pod += f"    image: ubuntu\n    command: [./t]\n    env: {env}\n    envFrom: {sources}\n"
    pod += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {B: x}\n"
    fact = _facts(convert(classified({"a.yaml": pod}), Options({})))["environment"]
    assert fact.told == told
    assert len({place.line for place in fact.places}) >= places


_CONTAINERS = "{containers: [{name: c, image: ubuntu, command: [./t]MOUNTED}]VOLUMES}"
_MOUNTED = _CONTAINERS.replace("MOUNTED", ", volumeMounts: [{name: d, mountPath: /d}]").replace(
    "VOLUMES", ", volumes: [{name: d, hostPath: {path: /e}}]"
)
_BARE = _CONTAINERS.replace("MOUNTED", "").replace("VOLUMES", "")


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec:\n  tasks:\n"
            f"  - {{name: b, replicas: 1, template: {{spec: {_MOUNTED}}}}}\n"
            f"  - {{name: c, replicas: 2, template: {{spec: {_MOUNTED}}}}}\n",
            "not determined",
        ),
        (
            f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {_BARE}\n---\n"
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n  replicas: 1\n"
            f"  template: {{spec: {_MOUNTED.replace('ubuntu', 'debian')}}}\n",
            "none",
        ),
    ],
)
def test_mounts_of_pods_that_are_not_read_as_ranks_are_none_of_the_launch(manifest: str, told: str) -> None:
    found = convert(classified({"a.yaml": manifest}), Options({}))
    assert any("with mounts at /d" in each.what for each in found.findings)
    assert _facts(found)["mounts"].told == told


@pytest.mark.parametrize("count", ["gpu", "auto", "$(nvidia-smi -L | wc -l)"])
def test_ranks_of_each_gpu_have_the_line_that_tells_them(count: str) -> None:
    found = _of(f"#!/bin/bash\nexport QUIET=1\ntorchrun --nproc_per_node={count} ./sift.py\n")
    ranks = _facts(found)["ranks"]
    assert (ranks.state, ranks.told, ranks.places[0].line) == ("default", "one for each GPU", 3)
    assert "ranks_per_node" not in loaded(found.job)


def test_what_is_asked_for_several_times_is_said_once() -> None:
    mounts = "".join(f"    - {{name: v, mountPath: /{name}, subPath: {name}}}\n" for name in ("wind", "tide"))
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"
        f"  - name: c\n    image: reg/x:1\n    command: [./t]\n    volumeMounts:\n{mounts}"
        "  volumes:\n  - {name: v, persistentVolumeClaim: {claimName: YOUR_CLAIM}}\n"
    )
    found = convert(classified({"job.yaml": text}), Options({}))
    assert _facts(found)["mounts"].told == "asked for"
