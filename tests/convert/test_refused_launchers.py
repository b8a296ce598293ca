"""What is told of launchers that are refused as a whole."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"


def _refused(text: str) -> Conversion:
    found = convert(classified({"go.sh": f"{_HEAD}{text}\n"}), Options({}))
    assert not found.job
    return found


@pytest.mark.parametrize("program", ["shifter --image=lab/t:1", "sarus run lab/t:1", "ch-run /img --"])
def test_a_container_behind_many_options_is_refused_as_one_behind_few(program: str) -> None:
    options = "-N 2 -n 8 -c 4 --cpu-bind cores --distribution block --output log.txt --error log.err"
    name = {"sh": "Shifter", "sa": "Sarus", "ch": "Charliecloud"}[program[:2]]
    for start in ("srun", f"srun {options}", f"srun {options} numactl -l"):
        assert f"containers of {name}" in _refused(f"{start} {program} ./t").refused


def test_numbers_that_slurm_gives_are_told_of_ranks_by_mpirun() -> None:
    for program in ("ch-run /img --", "apptainer exec t.sif"):
        start = f"mpiexec -n $SLURM_NTASKS -ppn $SLURM_NTASKS_PER_NODE {program} ./t"
        told = {each.name: each.told for each in _refused(start).launch}
        assert (told["nodes"], told["ranks"]) == ("2", "4 on each node")


def test_a_starter_that_is_another_in_each_round_is_said_to_be_that() -> None:
    loop = 'for by in mpirun "srun --mpi=pmi2"; do time $by apptainer exec t.sif ./t; done'
    whys = [each.why for each in _refused(loop).findings]
    assert not [each for each in whys if "known to start any" in each]
    assert (
        'what each rank executes: by is another one in each round of the loop over mpirun "srun --mpi=pmi2"'
        in whys
    )


def test_a_script_with_a_launch_of_its_own_that_is_given_is_not_said_to_be_missing() -> None:
    own = '#!/bin/bash\n[ -f t.sif ] || apptainer build t.sif t.def\napptainer exec t.sif "$@"\n'
    files = {"go.sh": f"{_HEAD}cd $SLURM_SUBMIT_DIR/..\n./own.sh python t.py\n", "own.sh": own}
    found = convert(classified(files), Options({}))
    assert not [each.what for each in found.findings if "not given" in each.why]


def test_what_an_image_has_that_starts_its_own_command_is_told() -> None:
    for start in (
        "apptainer run --nv -B /a:/b docker://lab/t:2",
        "sarus run --mount=type=bind,src=/a,dst=/b lab/t:2",
    ):
        found = _refused(f"srun {start}")
        told = {each.name: each.told for each in found.launch}
        assert (told["image"], told["mounts"], told["ranks"]) == ("lab/t:2", "/a:/b", "4 on each node")
        whys = [each.why for each in found.findings]
        assert "what each rank executes: the image's own command, which no line tells" in whys


@pytest.mark.parametrize("start", ["{} singularity exec t.sif ./t", "{} apptainer run t.sif"])
def test_variables_for_the_container_are_told_where_an_option_gives_them(start: str) -> None:
    given = "--export=ALL,SINGULARITY_BIND=/a/b,SINGULARITYENV_LIBS=/c"
    for text in (start.format(f"srun {given}"), f"#SBATCH {given}\n{start.format('srun')}"):
        facts = {each.name: each.told for each in _refused(text).launch}
        assert facts["mounts"] == "/a/b:/a/b"
        assert facts["environment"] == "LIBS"


@pytest.mark.parametrize("words", ["./each.sh 3", '-c "cd /d && ./each.sh"'])
def test_a_shell_with_words_behind_its_image_starts_them_in_it(words: str) -> None:
    found = _refused(f"singularity shell --nv -B /d t.img {words}")
    told = {each.name: each.told for each in found.launch}
    assert (told["mounts"], told["image"]) == ("/d:/d", "t.img, which is not carried over")
    assert [each.what for each in found.findings if "Apptainer" in each.why and "ignore" in each.why]


def test_a_shell_for_people_is_not_the_run() -> None:
    text = f"{_HEAD}singularity shell -B /d t.img\nmpirun -np 8 ./t\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert "command: [./t]" in found.job or 'command: ["./t"]' in found.job


def test_folders_that_are_added_to_the_path_of_an_image_are_said_to_be_left() -> None:
    found = _refused("export SINGULARITYENV_PREPEND_PATH=/srv/bin\nsrun singularity exec t.sif ./t")
    (told,) = (each for each in found.findings if "PREPEND_PATH" in each.what)
    assert (told.kind, "no key of a job does" in told.why) == ("left", True)


def test_a_text_of_which_nothing_is_told_is_on_the_one_node_of_its_script() -> None:
    for nodes, told in (("1", "1"), ("2", "not determined")):
        text = (
            f'#!/bin/bash\n#SBATCH -N {nodes} --gpus-per-node=2 -t 9\nsingularity exec t.sif bash -c "$@"\n'
        )
        found = convert(classified({"go.sh": text}), Options({}))
        assert next(each.told for each in found.launch if each.name == "nodes") == told


def test_the_image_of_a_container_beside_the_ranks_is_not_told_as_theirs() -> None:
    found = _refused("singularity run --nv t.sif\nsrun bash -c './t 3'")
    (told,) = (each for each in found.findings if "t.sif" in each.what)
    assert told.what == "a container beside the ranks, of t.sif"
    assert next(each.told for each in found.launch if each.name == "image") == "not determined"


_LOOP = "for kind in lean full; do srun --mpi=pmi2 apptainer exec /lab/$kind.sif ./t; done"


@pytest.mark.parametrize("run", [_LOOP, "mpirun -np 8 ./t", "srun --mpi=pmi2 singularity exec r.sif ./t"])
def test_the_image_of_what_another_line_starts_is_not_told_as_that_of_the_ranks(run: str) -> None:
    beside = ("apptainer exec small.sif ./prepare 3", "apptainer exec docker://lab/c:3 ./unpack")
    found = _refused("\n".join((*beside, run)))
    image = next(each.told for each in found.launch if each.name == "image")
    assert image == ("r.sif, which is not carried over" if "r.sif" in run else "not determined")
    whys = {each.what: each.why for each in found.findings}
    for command, its in zip(beside, ("small.sif", "lab/c:3"), strict=True):
        assert whys[command] == f"its image is {its}, and a job's steps have the one of its run"
    assert "the image lab/c:3" not in whys


def test_the_container_of_a_script_that_is_given_is_that_of_the_run_in_it() -> None:
    files = {"go.sh": f"{_HEAD}apptainer exec t.sif ./own.sh\n", "own.sh": "#!/bin/bash\nmpirun -np 8 ./t\n"}
    found = convert(classified(files), Options({}))
    assert next(each.told for each in found.launch if each.name == "image").startswith("t.sif")


def test_the_shifter_of_another_site_has_its_image_behind_its_command() -> None:
    found = _refused("srun shifter run --mpi --mount=type=bind,source=/a,destination=/b lab/t:4 ./t 3")
    told = {each.name: each.told for each in found.launch}
    assert (told["image"], told["mounts"]) == ("lab/t:4", "/a:/b")
    assert "command: ./t 3" in {each.became for each in found.findings}
    for own in ("shifter --image=lab/t:5 run 3", "shifter -i lab/t:5 run 3"):
        found = _refused(f"srun {own}")
        assert next(each.told for each in found.launch if each.name == "image") == "lab/t:5"
        assert "command: run 3" in {each.became for each in found.findings}
    found = _refused("shifter pull lab/t:4\nsrun shifter run lab/t:4 ./t 3")
    assert "command: ./t 3" in {each.became for each in found.findings}


def test_a_container_by_which_a_launcher_is_known_is_said_where_it_is_not_the_run() -> None:
    found = _refused("apptainer exec t.sif ./mesh -f\nsrun --mpi=pmi2 apptainer exec t.sif ./t")
    (said,) = (each for each in found.findings if each.what == "apptainer exec t.sif ./mesh -f")
    assert (said.kind, "not part of what is launched" in said.why) == ("left", True)
    alone = _refused("srun --mpi=pmi2 apptainer exec t.sif ./t")
    assert not [each for each in alone.findings if "not part of what is launched" in each.why]


@pytest.mark.parametrize("kept", ["", " | tee log.mesh"])
def test_a_container_beside_the_run_is_said_where_its_output_is_kept_too(kept: str) -> None:
    found = _refused(
        f"apptainer exec t.sif ./mesh -f{kept}\nsrun --mpi=pmi2 apptainer exec t.sif ./t | tee log.t"
    )
    said = [each.what for each in found.findings if "not part of what is launched" in each.why]
    assert said == ["apptainer exec t.sif ./mesh -f"]


def test_an_image_by_a_path_from_here_is_said_once() -> None:
    for name in ("./t.sif", "./../lab/t.sif", "../lab/t.sif"):
        found = _refused(f"apptainer exec {name} python ./t.py")
        its = [each.what for each in found.findings if each.what.startswith("the image ")]
        assert its == [f"the image {name.removeprefix('./')}"]


@pytest.mark.parametrize(
    ("line", "is_known"),
    [
        ("python ../tools/launch.py -n 4 -s 2 -H hosts.txt --launcher ssh python fit.py", True),
        ("./launch.py --num-workers 4 --cluster mpi ./fit", True),
        ("python launch.py -n 4 --epochs 3", False),
    ],
)
def test_workers_of_a_parameter_server_are_named(line: str, is_known: bool) -> None:
    found = convert(classified({"go.sh": f"{line}\n"}), Options({}))
    assert ("parameter server" in found.refused) == is_known


@pytest.mark.parametrize("option", ["-v ", "--volume ", "--volume="])
def test_a_mount_of_a_refused_launcher_that_is_not_known_is_named_as_one(option: str) -> None:
    text = f"#!/bin/bash\ndocker run --gpus all {option}$DATA:/data lab/x:1 python t.py\n"
    found = convert(classified({"go.sh": text}), Options({}))
    told = next(each.told for each in found.launch if each.name == "mounts")
    assert found.refused
    assert told == f"{option}${{DATA}}:/data, which is not carried over"


def test_an_image_that_sbatch_is_given_too_is_that_of_the_run() -> None:
    run = "srun --mpi=pmi2 shifter --image=docker:lab/kiln:2 ./t"
    text = f"#!/bin/bash\n#SBATCH --image=docker:lab/kiln:2\n#SBATCH -N 1\n{run}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    (said,) = [each for each in found.findings if each.places[0].line == 2 and "image" in each.what]
    assert (said.kind, said.why) == ("replaced", "the line of the run names its image itself")
    assert next(each.told for each in found.launch if each.name == "image") == "lab/kiln:2"


def test_a_script_that_wraps_the_program_of_each_rank_is_said_to_run_in_the_ranks() -> None:
    files = {
        "go.sh": "#!/bin/bash\n#SBATCH -N 1 -n 2\nsrun shifter --image=a/b:1 bash -c './wrap.sh ./t'\n",
        "wrap.sh": '#!/bin/bash\n[ $SLURM_LOCALID -eq 0 ] && ./daemon\n"$@"\n',
    }
    (said,) = [each for each in convert(classified(files), Options({})).findings if each.kind == "unread"]
    assert said.what == "a script that runs in or beside the ranks"
