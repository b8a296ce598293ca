"""Whose mpirun a script starts, and what srun is told of MPI: by that its ranks find each other."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _of(lines: str) -> tuple[dict[str, Any], Conversion]:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 60\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize(
    ("lines", "mpi"),
    [
        ("module load gcc impi/2021\nmpirun -np 8 ./app", "pmi2"),
        ("module load intel_comp/2019 intel_mpi/2019\nmpirun -np 8 ./app", "pmi2"),
        ("module load mpi/intel/2021.4\nmpirun -np 8 ./app", "pmi2"),
        ("module load intel-oneapi-mpi\nmpirun -np 8 ./app", "pmi2"),
        ("module load intel2021/compiler intel2021/mpi\nmpirun -np 8 ./app", "pmi2"),
        ("module load intel/mpi/64/2018\nmpirun -np 8 ./app", "pmi2"),
        ("module load intel-oneapi-compilers/2024.1 openmpi/4\nmpirun -np 8 ./app", "pmix"),
        ("module load impi\nmodule unload impi\nmodule load openmpi/4\nmpirun -np 8 ./app", "pmix"),
        ("module load openmpi/4.1\nmodule rm openmpi\nmodule load impi\nmpirun -np 8 ./app", "pmi2"),
        ("module load impi/2021\nmodule purge\nmodule load openmpi/4\nmpirun -np 8 ./app", "pmix"),
        ("module swap openmpi/4.1 impi/2021\nmpirun -np 8 ./app", "pmi2"),
        ("ml impi/2021\nml -impi openmpi/4.1\nmpirun -np 8 ./app", "pmix"),
        ("module load mvapich2/2.3\nmpiexec -n 8 ./app", "pmi2"),
        ("source /opt/intel/oneapi/setvars.sh\nmpirun -n 8 ./app", "pmi2"),
        ("export I_MPI_DEBUG=5\nmpirun -n 8 ./app", "pmi2"),
        ("/opt/mpich/bin/mpiexec -n 8 ./app", "pmi2"),
        ("mpiexec.hydra -n 8 ./app", "pmi2"),
        ("mpdboot -n 2 -f hosts\nmpiexec -n 8 ./app\nmpdallexit", "pmi2"),
        ("module load gcc openmpi/1.10.7\nmpirun -np 8 -x A=1 ./app", "pmi2"),
        ("module load openmpi/gcc/64/1.8.5\nmpirun -np 8 ./app", "pmi2"),
        ("module load openmpi/4.1.1\nmpirun -np 8 ./app", "pmix"),
        ("mpirun -np 8 -x A=1 ./app", "pmix"),
        ("module load impi\nmpirun --mca btl ^tcp -np 8 ./app", "pmix"),
        ("module load openmpi/4.1\nmpirun -np 8 ./app", "pmix"),
        ("module load foss/2022a\nmpirun -np 8 ./app", "pmix"),
        ("module load Warm/5.2-intel-2015b\nmpirun -np 8 ./app", "pmi2"),
        ("module load intel/2019a\nmpirun -np 8 ./app", "pmi2"),
        ("module load Warm/5.2-foss-2021a-Python-3\nmpirun -np 8 ./app", "pmix"),
        ("module load Warm/5.2-gompi-2015b\nmpirun -np 8 ./app", "pmi2"),
        ("module load Warm/5.2-intel-2019b OpenMPI/4.0\nmpirun -np 8 ./app", "pmix"),
        ("mpirun.actual -n 8 ./app", "pmi2"),
        ("module load mpich-3.2\nmpiexec.actual -n 8 ./app", "pmi2"),
        ("module load gnu/9 spectrum-mpi/10.4\nmpirun -np 8 ./app", "pmix"),
        ('module load "gcc/12 intel-mpi/2019 gsl"\nmpirun -np 8 ./app', "pmi2"),
        ("module load impi\nmodule load openmpi\nmpirun -np 8 ./app", "pmix"),
        ("export OMPI_MCA_pml=ucx\nmpirun -np 8 ./app", "pmix"),
        ("mpirun.openmpi -np 8 ./app", "pmix"),
        ("/apps/hpcx/ompi/bin/mpirun -np 8 ./app", "pmix"),
        ("export PATH=/opt/warm/2016.3/linux/mpi/intel64/bin:$PATH\nmpirun -np 8 ./app", "pmi2"),
        ("export PATH=$PATH:/opt/mvapich2-2.3/bin:/opt/openmpi/bin\nmpirun -np 8 ./app", "pmi2"),
        ("export MPI_HOME=/opt/openmpi-1.8.8\nmpirun -np 8 ./app", "pmi2"),
        ("export WARM_MPI_ROOT=/opt/openmpi-4.1\nmpirun -np 8 ./app", "pmix"),
        ("export PATH=/opt/openmpi/bin:$PATH\nmodule load impi\nmpirun -np 8 ./app", "pmi2"),
        ("docker run --gpus all nvcr.io/nvidia/x:1 mpirun -np 8 ./app", "pmix"),
        ("export MPIFC=mpiifort\nmpirun -np 8 ./app", "pmi2"),
        ("/opt/warm/bin/mpiicx -o app app.c\nmpirun -np 8 ./app", "pmi2"),
        ("module load openmpi/4.1\nmpiicc -o old old.c\nmpirun -np 8 ./app", "pmix"),
        ("mpirun -np 8 bash -c './app.$PMI_RANK'", "pmi2"),
        ("mpirun -np 8 --map-by ppr:4:node --bind-to core ./app", "pmix"),
        ("module load impi\nmpirun -np 8 --map-by socket:PE=4 ./app", "pmix"),
        (
            ". /opt/impi/bin/mpivars.sh\nexport PATH=/ucx:/opt/openmpi-4/bin:$PATH\nmpirun -np 8 ./app",
            "pmix",
        ),
        ("export PATH=/opt/openmpi-4/bin:$PATH\n. /opt/impi/bin/mpivars.sh\nmpirun -np 8 ./app", "pmi2"),
        (". /opt/impi/bin/mpivars.sh\nexport PATH=$PATH:/opt/openmpi-4/bin\nmpirun -np 8 ./app", "pmi2"),
    ],
)
def test_what_tells_whose_it_is_tells_how_ranks_find_each_other(lines: str, mpi: str) -> None:
    job, found = _of(lines)
    assert job["mpi"] == mpi
    assert not [each for each in found.findings if each.kind == "assumed" and each.key == "mpi"]


@pytest.mark.parametrize(
    "line",
    ["module load openmpi/gcc/1.4.3\nmpirun -np 8 ./app", "/opt/openmpi-1.2.8/bin/mpirun -np 8 ./app"],
)
def test_of_an_open_mpi_that_srun_cannot_start_it_is_asked(line: str) -> None:
    job, found = _of(line)
    assert job["mpi"] == script_cases.ASK
    assert any(each.key == "mpi" and "before 1.5" in each.why for each in found.findings)


@pytest.mark.parametrize("load", ["cray-mpich/8.1", "cray-pals"])
@pytest.mark.parametrize("line", ["mpiexec -n 8 -ppn 4 ./app", "mpirun -np 8 ./app", "mpiexec -n 8 ./app"])
def test_of_crays_mpi_is_asked_how_its_ranks_find_each_other(line: str, load: str) -> None:
    job, found = _of(f"module load {load}\n{line}")
    assert job["mpi"] == script_cases.ASK
    assert any(each.key == "mpi" and load in each.why for each in found.findings)


@pytest.mark.parametrize(
    ("loads", "mpi", "said"),
    [
        ("openmpi hdf5-openmpi fftw/2.1/gcc/mpich", "pmix", True),
        ("openmpi/4.1 app/2.0-impi", "pmix", True),
        ("intel-oneapi-mpi netcdf/4-openmpi", "pmi2", True),
        ("mpi/intelmpi/2021 fftw/3-mpich", "pmi2", False),
        ("openmpi hdf5/1.12-openmpi", "pmix", False),
        ("gcc app/2.0-impi", "pmi2", False),
        ("impi openmpi", "pmix", False),
    ],
)
def test_what_a_program_was_built_with_counts_less_than_the_mpi_itself(
    loads: str, mpi: str, said: bool
) -> None:
    job, found = _of(f"module load {loads}\nmpirun -np 8 ./app")
    asked = [each for each in found.findings if each.what == "whose mpirun it is"]
    assert (job["mpi"], bool(asked)) == (mpi, said)


@pytest.mark.parametrize(
    ("lines", "mpi", "said"),
    [
        ("export OMPI_MCA_pml=ucx\nmodule load intel-mpi/2021\nmpirun -np 8 ./app", "pmi2", True),
        ("export I_MPI_DEBUG=5\nmodule load openmpi/4.1\nmpirun -np 8 ./app", "pmix", True),
        ("module load impi\nOMPI_MCA_pml=ucx mpirun -np 8 ./app", "pmix", True),
        ("export OMPI_MCA_pml=ucx\nmodule load hdf5/1.12-impi\nmpirun -np 8 ./app", "pmix", False),
        ("export I_MPI_DEBUG=5\nmodule load impi\nmpirun -np 8 ./app", "pmi2", False),
    ],
)
def test_variables_of_another_mpi_than_the_loaded_one_are_said_to_be(
    lines: str, mpi: str, said: bool
) -> None:
    job, found = _of(lines)
    asked = [each for each in found.findings if each.what == "whose mpirun it is"]
    assert (job["mpi"], bool(asked)) == (mpi, said)


@pytest.mark.parametrize(
    "lines",
    [
        "mpirun -np 8 ./app",
        "module load gcc cuda\nmpiexec -n 8 ./app",
        "export PATH=/opt/warm-mpich/bin:$PATH\nexport WARM_DIR=/opt/mpich\nmpirun -np 8 ./app",
    ],
)
def test_where_nothing_tells_it_that_is_said(lines: str) -> None:
    job, found = _of(lines)
    assert job["mpi"] == "pmix"
    [said] = [each for each in found.findings if each.kind == "assumed" and each.key == "mpi"]
    assert "pmi2" in said.why


def test_that_of_pals_is_asked_for() -> None:
    _, found = _of("mpiexec -n 8 --ppn 4 --depth=8 --cpu-bind depth ./app")
    assert "mpi" in {each.key for each in found.findings if each.kind == "question"}


@pytest.mark.parametrize(("given", "asks"), [("", True), ("I_MPI_PMI_LIBRARY=/usr/lib/libpmi2.so ", False)])
def test_the_library_that_intel_mpi_needs_under_srun_is_asked_for(given: str, asks: bool) -> None:
    _, found = _of(f"module load impi\n{given}mpirun -np 8 ./app")
    assert any(each.what == "I_MPI_PMI_LIBRARY" for each in found.findings if each.kind == "question") == asks


def test_a_compiler_of_intel_is_no_toolchain_with_its_mpi() -> None:
    _, found = _of("module load intel/2019.5.281 icc/2015b\nmpirun -np 8 ./app")
    assert [each for each in found.findings if each.kind == "assumed" and each.key == "mpi"]


@pytest.mark.parametrize(("lines", "told"), [("", False), ("module load openmpi/4.1\n", True)])
def test_what_horovod_was_built_with_is_said_to_be_assumed(lines: str, told: bool) -> None:
    job, found = _of(f"{lines}horovodrun -np 8 ./app")
    assert job["mpi"] == "pmix"
    said = [each.why for each in found.findings if each.kind == "assumed" and each.key == "mpi"]
    assert ["Gloo" in each for each in said] == ([] if told else [True])


def test_mpi_is_asked_for_where_a_function_hands_on_words_that_are_not_told() -> None:
    """The rounds of a loop make the words of the first ones another one's: --mpi may be among them."""
    lines = (
        'start() {\n  local its=() rest=() behind=0\n  for word in "$@"; do\n'
        '    if [[ $behind -eq 0 && "$word" == "--" ]]; then behind=1; continue; fi\n'
        '    (( behind == 0 )) && its+=("$word") || rest+=("$word")\n  done\n'
        '  srun "${its[@]}" --container-image=i.sqsh "${rest[@]}"\n}\nexport MASTER_ADDR=$(hostname)\n'
        "start -N1 -n1 -- ./look\n"
        "for i in $(seq 1 3); do start --mpi=pmix --ntasks-per-node=2 -- ./fit --seed $RANDOM; done\n"
    )
    found = convert(classified({"run.sub": f"#!/bin/bash\n#SBATCH -N 2 -t 9\n{lines}"}), Options({}))
    assert script_cases.loaded(found.job)["mpi"] == script_cases.ASK
    assert "srun without --mpi" not in [each.what for each in found.findings]


@pytest.mark.parametrize(
    "lines", ["module load intel-oneapi-compilers/2024.1", "module load openmpi\nmodule unload openmpi"]
)
def test_what_is_no_mpi_or_is_taken_away_again_tells_none(lines: str) -> None:
    _, found = _of(f"{lines}\nmpirun -np 8 ./app")
    (assumed,) = [each for each in found.findings if each.kind == "assumed" and each.key == "mpi"]
    assert "which nothing tells" in assumed.why


def test_numbers_of_either_kind_that_a_wrapper_reads_tell_no_library() -> None:
    _, found = _of("mpirun -np 8 bash -c './app.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'")
    assert [each.became for each in found.findings if each.kind == "assumed" and each.key == "mpi"] == [
        "mpi: pmix"
    ]


def test_horovodrun_by_gloo_needs_a_horovod_with_mpi_under_srun() -> None:
    job, found = _of("horovodrun --gloo -np 8 ./app")
    assert job["mpi"] == "pmix"
    said = [each.why for each in found.findings if "Horovod's MPI alone" in each.why]
    assert len(said) == 2
    assert not [each for each in found.findings if "built with Gloo alone" in each.why]
