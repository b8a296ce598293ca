"""The options of singularity, apptainer and shifter: which of them have a word of their own behind them, and
what does for a job what they did."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import layers
from hpclaunch.values.conversion import Conversion


@pytest.mark.parametrize(
    "options",
    [
        "--nv --no-mount bind-paths",
        "--no-mount=home,cwd --bind /a:/b",
        "--containlibs /lib/a.so --no-env LD_PRELOAD",
        "--authfile /home/me/auth.json --tmpdir /scratch",
        "--memory-reservation 1g --runscript-timeout 30s",
        "--rocm --underlay",
        "--no-init --sparse --oom-kill-disable",
    ],
)
def test_the_image_stands_behind_all_options_and_their_values(options: str) -> None:
    words = [(word,) for word in f"apptainer run {options} lab.sif ./solve -n 3".split()]
    container, command = layers(words)
    assert container.program == "singularity run"
    assert container.words == (("lab.sif",),)
    assert command.words == (("./solve",), ("-n",), ("3",))


_PULLS = "apptainer pull --force docker://reg.lab/cfd/solver:2\n"
_NAMED = "S=/scratch/x.sif\n[ -f $S ] || apptainer build $S docker://reg.lab/cfd/solver:2\n"
_BY_OPTION = "singularity pull --name x.sif docker://reg.lab/cfd/solver:2\n"


@pytest.mark.parametrize("head", ["#SBATCH -N 2\nsrun ", "mpirun -np 4 "])
@pytest.mark.parametrize(
    ("makes", "file"), [(_PULLS, "./solver_2.sif"), (_NAMED, "$S"), (_BY_OPTION, "/scratch/x.sif")]
)
def test_a_file_that_the_script_makes_of_an_image_is_that_image(head: str, makes: str, file: str) -> None:
    first, _, starts = head.rpartition("\n")
    text = f"#!/bin/bash\n{first}\n{makes}{starts}singularity exec --nv {file} ./t\n"
    told = {each.name: each.told for each in convert(classified({"run.sh": text}), Options({})).launch}
    assert told["image"] == "reg.lab/cfd/solver:2"


@pytest.mark.parametrize(
    "makes",
    [
        "apptainer pull docker://reg.lab/cfd/other:2\n",
        "apptainer pull x.sif docker://a/b:1\napptainer pull x.sif docker://a/b:2\n",
        "apptainer pull x.sif docker://a/$NAME\n",
        "",
    ],
)
def test_a_file_of_which_nothing_says_what_it_was_made_of_is_no_image(makes: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2\n{makes}srun apptainer exec x.sif ./t\n"
    told = {each.name: each.told for each in convert(classified({"run.sh": text}), Options({})).launch}
    assert told["image"] == "x.sif, which is not carried over"


@pytest.mark.parametrize(("option", "reaches"), [("", True), ("--cleanenv", False)])
def test_what_is_exported_reaches_a_container_that_no_launcher_starts(option: str, reaches: bool) -> None:
    text = f"#!/bin/bash\nexport MODE=fast\nsingularity exec {option} x.sif ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    told = {each.name: each.told for each in found.launch}
    assert told["environment"] == ("MODE" if reaches else "not determined")
    assert any("MODE" in each.what for each in found.findings)


@pytest.mark.parametrize(
    ("starts", "by"),
    [
        ("apptainer exec --cleanenv", "singularity exec"),
        ("srun singularity run -e", "singularity run"),
        ("srun --export=NONE apptainer exec", "--export=NONE"),
    ],
)
def test_its_own_variables_reach_it_where_it_keeps_others_from_the_ranks(starts: str, by: str) -> None:
    exports = "export APPTAINERENV_TILES=4 APPTAINERENV_APPEND_PATH=/opt/lab/bin LAB_SEED=1\n"
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 -t 10\n{exports}{starts} x.sif ./t\n"
    found = convert(classified({"go.sh": text}), Options({}))
    (kept,) = (each for each in found.findings if "keeps it from the ranks" in each.why)
    assert kept.why == f"exported, but {by} keeps it from the ranks"
    row = next(each for each in found.launch if each.name == "environment")
    adds = [each.kind for each in found.findings if each.what.startswith("APPTAINERENV_APPEND_PATH=")]
    if by == "--export=NONE":
        assert (kept.what, row.told, adds) == (
            "APPTAINERENV_TILES, APPTAINERENV_APPEND_PATH, LAB_SEED",
            "not determined",
            [],
        )
    else:
        assert (kept.what, row.told, adds) == ("LAB_SEED", "TILES", ["left"])


_STARTS = "apptainer instance start --nv -B /lab/sets:/sets --overlay /o.img {} one\n"


@pytest.mark.parametrize("by", ["", "srun ", "mpirun -np 4 "])
@pytest.mark.parametrize(
    ("image", "told"),
    [("/lab/t.sif", "/lab/t.sif, which is not carried over"), ("docker://lab/t:3", "lab/t:3")],
)
def test_a_command_in_an_instance_has_its_image_and_mounts(by: str, image: str, told: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 4 --gpus-per-node=4\n"
    ends = "apptainer instance stop one\n"
    text = f"{head}{_STARTS.format(image)}{by}apptainer exec --pwd /w instance://one ./t\n{ends}"
    found = convert(classified({"run.sh": text}), Options({}))
    facts = {each.name: each for each in found.launch}
    assert (facts["image"].told, facts["mounts"].told) == (told, "/lab/sets:/sets")
    assert {place.line for name in ("image", "mounts") for place in facts[name].places} == {3}
    said = {each.what: each for each in found.findings}
    assert said["singularity instance start --overlay /o.img"].kind == "left"
    assert said["apptainer instance stop one"].kind == "replaced"
    assert not [each for each in found.findings if "not part of what is launched" in each.why]


@pytest.mark.parametrize("starts", ["", _STARTS.replace("one", "other"), _STARTS.format("instance://one")])
def test_the_image_of_an_instance_that_no_line_makes_is_not_told(starts: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 4\n"
    text = f"{head}{starts.format('t.sif')}srun singularity exec instance://one ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert {each.name: each.told for each in found.launch}["image"] == "not determined"
    whys = [each.why for each in found.findings if each.what == "the instance one"]
    assert whys == ["the image, which the instance one gives: a reference or a .sqsh file"]


@pytest.mark.parametrize(
    ("starts", "ranks", "mpi"),
    [
        ("", "1 on each node", "none, which is the default"),
        ("time ", "1 on each node", "none, which is the default"),
        ("srun --mpi=pmi2 ", "3 on each node", "pmi2"),
        ("mpirun -np 3 ", "3 on each node", "pmix"),
    ],
)
def test_an_image_that_is_executed_is_the_image_of_the_run(starts: str, ranks: str, mpi: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=3 -t 9\ncp a.sif b.sif\n{starts}./ocean.sif\n"
    found = convert(classified({"go.sh": text}), Options({}))
    told = {each.name: each.told for each in found.launch}
    assert (told["image"], told["ranks"]) == ("ocean.sif, which is not carried over", ranks)
    assert told["mpi"] == mpi
    assert not found.job
    assert [each.what for each in found.findings if "image's own command" in each.what]
    assert not [each.what for each in found.findings if "b.sif" in each.what and "image" in each.what]


def test_the_words_of_an_image_that_is_executed_go_to_its_own_script() -> None:
    words = [(word,) for word in ["srun", "-n", "2", "/img/ocean.simg", "solve", "--nv"]]
    _, container, command = layers(words)
    assert (container.program, container.options) == ("singularity run", ())
    assert (container.words, command.words) == ((("/img/ocean.simg",),), (("solve",), ("--nv",)))


@pytest.mark.parametrize(
    ("option", "by"), [("--nv", "Enroot's hook"), ("--rocm", "Enroot mounts the node's /dev")]
)
def test_gpus_come_into_a_container_of_enroot_by_what_their_maker_has(option: str, by: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=2\nsrun apptainer exec {option} x.sif ./t\n"
    found = convert(classified({"run.sh": text}), Options({})).findings
    (said,) = [each for each in found if each.what == f"singularity exec {option}"]
    assert (said.kind, said.why.startswith(by)) == ("replaced", True)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("$tool --gzip -q 3 x", []),
        ("$run_cmd --module 3", []),
        ("$SETUP --keep x", []),
        ("$OPTS --image=a/b ./t", ["$OPTS", "--image=a/b"]),
        ("$OPTS ./t --gzip", ["$OPTS"]),
    ],
)
def test_what_shifter_has_no_such_option_for_is_the_programs(words: str, options: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --image=a/b\nsrun shifter {words}\n"
    found = convert(classified({"run.sh": text}), Options({})).findings
    said = [each.what for each in found if each.what.startswith("shifter ")]
    assert [each for each in said if "$" not in each] == []
    assert [each for each in options if "$" in each] == [
        each.removeprefix("shifter ").replace("{", "").replace("}", "") for each in said
    ]


@pytest.mark.parametrize("starts", ["", "srun ", "mpirun -np 2 "])
@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--env TILES=4,8,16", ["env.TILES: 4,8,16"]),
        ('--env DEPTHS="$DEPTHS"', ["env.DEPTHS: 10,20"]),
        ("--env TILES=4,SEAS=north", ["env.TILES: 4", "env.SEAS: north"]),
    ],
)
def test_a_comma_parts_variables_of_a_container_only_where_several_are_set(
    starts: str, option: str, told: list[str]
) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 2 -t 9\nDEPTHS=10,20\n"
    text = f"{head}{starts}singularity exec {option} x.sif ./t\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert [each.became for each in found.findings if each.became.startswith("env.")] == told


@pytest.mark.parametrize(
    ("option", "left"),
    [
        ("--env A=1,B=2", []),
        ("--env A=hunter2,B-C=hunter2", ["singularity exec --env B-C"]),
        ("--env $SETTINGS", ["singularity exec --env ${SETTINGS}"]),
        ('--env "$NAME=hunter2"', ["singularity exec --env ${NAME}"]),
    ],
)
def test_a_variable_that_no_job_can_have_is_told(option: str, left: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2\nsrun singularity exec {option} x.sif ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert [each.what for each in found.findings if "exec --env" in each.what] == left


@pytest.mark.parametrize(("image", "is_file"), [("docker://reg.lab/cfd/solver:2", False), ("s.sif", True)])
def test_only_of_a_file_it_is_said_that_no_site_runs_it(image: str, *, is_file: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2\nsrun apptainer exec {image} ./solve\n"
    refused = convert(classified({"go.sh": text}), Options({})).refused
    assert "containers of Singularity or Apptainer" in refused
    assert ("runs a .sif image" in refused) is is_file


_AROUND = """#!/bin/bash
HERE=img
inside() {
  apptainer exec --nv --bind /data:/d "$HERE/a.sif" "$@"
}
case "${1:-}" in
  build) echo building ;;
  *) inside "$@" ;;
esac
"""


@pytest.mark.parametrize("start", ["./in.sh python t.py 3", "bash tools/in.sh python t.py 3"])
def test_a_script_around_a_container_has_the_words_with_which_it_is_started(start: str) -> None:
    texts = {"run.sub": f"#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=1 -t 5\n{start}\n", "in.sh": _AROUND}
    found = convert(classified(texts), Options({}))
    facts = {each.name: each.told for each in found.launch}
    assert facts["image"].startswith("img/a.sif")
    assert facts["mounts"] == "/data:/d"
    assert any(each.became == "command: python t.py 3" for each in found.findings)
    assert not any("an argument of the script" in each.what for each in found.findings)


def test_several_options_of_one_name_are_each_told_once() -> None:
    options = "--nv --writable-tmpfs --bind /a:/b --bind /c:/d --env X=1 --env PATH=/usr/bin"
    text = f"#!/bin/bash\nexport SINGULARITYENV_Z=3\napptainer run {options} lab.sif\n"
    found = convert(classified({"go.sh": text}), Options({}))
    became = [each.became for each in found.findings]
    for told in ("mounts.0: /a:/b", "mounts.1: /c:/d", "env.X: 1", "env.Z: 3", "container.writable: true"):
        assert became.count(told) == 1, told
    assert not any(each.startswith("env.PATH") for each in became)  # Pyxis never hands it on
    (script,) = (each for each in found.findings if each.what == "singularity run lab.sif")
    assert (script.kind, script.why[:20]) == ("left", "the image's own scri")


def test_variables_of_a_container_are_told_where_mpirun_starts_it_on_several_nodes() -> None:
    text = "#!/bin/bash\n#PBS -l select=2:mpiprocs=4\nexport A=1\n"
    text += "mpirun -np 8 singularity exec --env X=1 lab.sif ./solve\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert [each.became for each in found.findings].count("env.X: 1") == 1
    (shared,) = (each for each in found.findings if each.became == "env of all ranks")
    assert shared.what == "A"  # X stands in the command itself, on each node


@pytest.mark.parametrize("start", ["", "srun "])
def test_the_folder_in_which_sbatch_was_told_to_begin_is_the_one_that_a_container_starts_in(
    start: str,
) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=1 -t 9\n"
    run = f"{start}singularity exec --nv lab.sif ./t\n"
    said = []
    for option in ("", "#SBATCH --chdir=/data/lab\n"):
        found = convert(classified({"go.sh": head + option + run}), Options({})).findings
        said += [each.what for each in found if each.what.startswith("the working folder")]
    assert said == [
        "the working folder: the folder from which the script is submitted",
        "the working folder: /data/lab",
    ]


def _by_variable(variable: str, start: str, image: str = "docker://a/b:1") -> Conversion:
    lines = (
        f"#SBATCH -N 1 -n 2 --gres=gpu:2 -t 9\nexport {variable} WARM=3\n{start}apptainer exec {image} ./t"
    )
    return convert(classified({"run.sh": f"#!/bin/bash\n{lines}\n"}), Options({}))


@pytest.mark.parametrize("start", ["", "srun "])
@pytest.mark.parametrize(
    ("variable", "kind", "part"),
    [
        ("SINGULARITY_HOME=/w/me", "left", "mounts that folder as the home"),
        ("APPTAINER_CONTAINLIBS=/w/x.so", "left", "no counterpart"),
        ("APPTAINER_WORKDIR=/w", "left", "no counterpart"),
        ("APPTAINER_NV=1", "replaced", "lets the GPUs of the job in"),
        ("SINGULARITY_CLEANENV=true", "replaced", "what the job file names"),
    ],
)
def test_a_variable_that_is_an_option_is_told_as_one(variable: str, kind: str, part: str, start: str) -> None:
    found = _by_variable(variable, start).findings
    assert [each.kind for each in found if each.what.endswith(variable) and part in each.why] == [kind]
    assert not any(each.key.startswith(("env.SINGULARITY", "env.APPTAINER")) for each in found)


@pytest.mark.parametrize(
    ("variable", "line"),
    [
        ("APPTAINER_WRITABLE_TMPFS=1", "container.writable: true"),
        ("APPTAINER_WRITABLE_TMPFS=false", "container.writable: false"),
        ("APPTAINER_PWD=/w", "workdir: /w"),
        ("SINGULARITY_NO_HOME=0", "container.mount_home: true"),
    ],
)
def test_a_variable_that_is_an_option_says_what_the_option_does(variable: str, line: str) -> None:
    found = _by_variable(variable, "srun ").findings
    assert line in [each.became for each in found]
    assert not [each for each in found if "secret" in each.why]


def test_an_environment_that_a_variable_cleans_reaches_no_rank() -> None:
    found = _by_variable("APPTAINER_CLEANENV=1", "srun ").findings
    assert any(each.what == "WARM" and "keeps it from the ranks" in each.why for each in found)


def test_the_export_of_an_option_is_not_said_to_be_unused() -> None:
    lines = "APPTAINER_HOME=/w\nexport APPTAINER_HOME\napptainer exec x.sif ./t\n"
    found = convert(classified({"run.sh": f"#!/bin/bash\n#SBATCH -N 1\n{lines}"}), Options({})).findings
    assert not [each for each in found if each.why == "nothing that is launched uses it"]


@pytest.mark.parametrize("option", ["--cleanenv", "-e"])
def test_an_environment_that_is_cleaned_is_told(option: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\nsrun singularity exec {option} x.sif ./t\n"
    found = convert(classified({"run.sh": text}), Options({})).findings
    assert any(each.kind == "replaced" and option in each.what for each in found)
