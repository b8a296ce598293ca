"""Defects of the original: where each is found, where none is, and that the consequence is what happens."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from hpclaunch.convert import defects
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology.catalogue import load
from hpclaunch.values.conversion import Finding

# A snippet, the line of its defect, and a text of bash with which the consequence is seen: it ends with 0.
STATUSES = {
    "background": ("srun hostname & rv=$?\nexit $rv\n", 1, "false & rv=$?; wait; test $rv -eq 0"),
    "background in a loop": (
        'for h in a b; do\n  ssh "$h" docker run x & rets+=($?)\ndone\n',
        2,
        'false & rets+=($?); wait; test "${rets[0]}" -eq 0',
    ),
    "wait for several": (
        'srun a & pids+=($!)\nsrun b & pids+=($!)\nwait "${pids[@]}"\n',
        3,
        'false & p=($!); true & p+=($!); wait "${p[@]}"',
    ),
    "wait for a list": (
        'for h in a b; do\n  srun -w $h x &\n  pids="$pids $!"\ndone\nwait $pids\n',
        5,
        'for c in false true; do $c & p="$p $!"; done; wait $p',
    ),
    "wait for a list that grows": (
        'srun a & pids+=" $!"\nsrun b & pids+=" $!"\nwait ${pids}\n',
        3,
        'false & p+=" $!"; true & p+=" $!"; wait ${p}',
    ),
    "wait for the jobs": (
        "srun a &\nsrun b &\nwait $(jobs -p)\n",
        3,
        "(sleep 0.05; false) & (sleep 0.1; true) & wait $(jobs -p)",
    ),
    "wait for all": ("srun a &\nsrun b &\nwait\n", 3, "false & false & wait"),
    "tee": ("srun ./train.sh |& tee log.txt\n", 1, "false |& tee /dev/null"),
    "or true": ("srun ./train.sh || true\n", 1, "false || true"),
    "cleaning up last": ("mpirun ./a.out\ndocker rm -f $C\n", 2, "false; true"),
    "a name without its $": (
        'if [[ -z "SLURM_JOB_ID" ]]; then export SLURM_NODES=1; fi\nsrun a\n',
        1,
        'unset SLURM_JOB_ID; ! [[ -z "SLURM_JOB_ID" ]]',
    ),
    "a number without its $": (
        'if [ "N" -gt 1 ]; then N=2; fi\nsrun a\n',
        1,
        'N=2; ! [ "N" -gt 1 ] 2>/dev/null',
    ),
    "a name without its $ beside a word": (
        'if [[ "SLURM_NNODES" == "1" ]]; then srun a; fi\n',
        1,
        'SLURM_NNODES=1; ! [[ "SLURM_NNODES" == "1" ]]',
    ),
    "a name without its $, not that": (
        "if test DEBUG != 0; then srun a; fi\n",
        1,
        "DEBUG=0; test DEBUG != 0",
    ),
    "a container for a file": (
        "[[ -f $box ]] && exit\nsrun docker run --rm --name $box x\n",
        1,
        "box=mpi_1; ! [[ -f $box ]]",
    ),
    "a name without its $, in [ ]": ("[ -n DATADIR ] && srun a\n", 1, "unset DATADIR; [ -n DATADIR ]"),
    "a text for a command": (
        '[[ -f x ]] || { "::no container" && exit 1; }\nsrun a\n',
        1,
        '{ "::no container" && exit 1; } 2>/dev/null; test $? -eq 127',
    ),
    "a word that ssh takes apart": (
        "for i in 1; do\n  srun ssh h1 docker ps\n  ssh h1 docker exec -e 'A=x y' c srun a\ndone\n",
        3,
        "set -- -e 'A=x y'; test \"$(sh -c \"printf '%s|' $*\")\" = '-e|A=x|y|'",
    ),
    "a text that ssh takes apart": (
        'ssh "h$i" bash -c "cd /x; $RUN"\nsrun a\n',
        1,
        'set -- sh -c \'echo a\'; test -z "$(sh -c "$*")"',
    ),
    "single quotes": (
        "srun ./bind.sh '--cluster=${cluster}' -- a\n",
        1,
        """c=x; test '--cluster=${c}' != --cluster=x""",
    ),
    "a backslash with a blank behind it": (
        "srun -n 2 \\ \n  --container-image=a/b ./t\n",
        1,
        "f() { test $# -eq 2 && test \"$2\" = ' '; }\nf a \\ \n",
    ),
}
OTHERS = {
    "keygen": ('ssh-keygen -t rsa -n "" -f key\nsrun a\n', 1),
    "a line for sbatch too late": (
        "#!/bin/bash\n#SBATCH -N 2\ncat > x <<E\n#SBATCH -N 4\nE\n#SBATCH -t 10\n##SBATCH -p x\nsrun a\n",
        6,
    ),
    "all lines for sbatch too late": ("#!/bin/bash\nset -e\n#SBATCH -N 2\nsrun a\n", 3),
    "one line for sbatch too late": ('echo "#!\n#SBATCH -N 2\n" > x\nA="b"\n#SBATCH -N 4\nsrun a\n', 5),
    "one rank": ("srun --kill-on-bad-exit=0 -N2 ./a\n", 1),
    "ntasks": ("export SLURM_NTASKS=8\nsrun ./a\n", 1),
    "prefix": ("export NCCL_IB_HCA=mlx5_0,mlx5_1\nsrun ./a\n", 1),
    "prefix of all": ("srun env NCCL_IB_HCA=mlx5 ./a\n", 1),
    "sudo by a pipe": ("echo x | sudo -S reboot\nsrun a\n", 1),
    "sudo": ("sudo -S sysctl vm.drop_caches=3 < password.txt\nsrun a\n", 1),
    "login": ("docker login -u me -p Hunter2secret nvcr.io\nsrun a\n", 1),
    "login in a step": ("srun -N2 docker login -u me -p Hunter2secret nvcr.io\nsrun a\n", 1),
    "login elsewhere": ("ssh n1 /usr/bin/docker login -u me -pHunter2secret x.y\nsrun a\n", 1),
    "login in a text": ("bash -c 'docker login -u me -p Hunter2secret x.y'\nsrun a\n", 1),
    "database": ("mysql -u me -pHunter2secret db\nmysql -p db\nsrun a\n", 1),
    "database elsewhere": ("ssh n1 mysql -pHunter2secret\nsrun a\n", 1),
    "database in a text": ("ssh n1 'mysql -pHunter2secret db'\nsrun a\n", 1),
    "sshpass": ("sshpass -p Hunter2secret ssh n1 docker run x\n", 1),
    "address": ("git clone https://me:Hunter2secret@example.org/x.git\nsrun a\n", 1),
    "secret": ("export WANDB_API_KEY=Hunter2secret\nsrun a\n", 1),
    "a text that a container never reads": ("docker run --rm x bash -s <<EOF\nsrun a\nEOF\n", 1),
    "any host": ("srun a\nssh -oStrictHostKeyChecking=no n1 docker run x\n", 2),
    "keys": ("cat key.pub >> ~/.ssh/authorized_keys\nsrun a\n", 1),
}
WELL = """\
#!/bin/bash
#SBATCH --nodes=2
set -euo pipefail
: "${CONT:?CONT not set}"
export NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
[[ -z "${SLURM_JOB_ID:-}" ]] && exit 1
[[ "SLURM_NNODES" -gt 1 && SLURM_NNODES -lt 9 ]] || [ "$MODE" = DEBUG ] || [ MODE = "$MODE" ]
if [ "$DGXSYSTEM" = DGXA100 ]; then echo "on DGXA100"; fi
trap 'rm -f "$HOME/x"' EXIT
for i in 1 2; do
  ( srun --container-image="$CONT" --mpi=pmix ./run_and_time.sh ) |& tee "log_$i.txt"
done
srun bash -c 'echo "$HOSTNAME"' & pid=$!
wait "$pid"
srun hostname & last="$!"
wait $last
awk '{print $1}' log_1.txt
ssh n1 "docker exec -e 'A=x y' c ls"
ssh -o "ProxyCommand ssh gate" n1 'X=1 ls; cd "$1 x"'
ssh n1 docker exec c bash -c "'ls -l'"
"""


def _found(text: str, tmp_path: Path | None = None, **options: object) -> list[Finding]:
    reading = read([Source("run.sub", text)], {})
    return defects.find(reading, Options({}, **options), Draft())


def _machine(name: str) -> NodeType:
    return load(name).value


def _lines(findings: list[Finding]) -> list[int]:
    return [each.places[0].line for each in findings]


@pytest.mark.parametrize("name", STATUSES)
def test_what_is_lost_is_found_and_is_lost(name: str) -> None:
    snippet, line, shown = STATUSES[name]
    assert line in _lines(_found(snippet))
    subprocess.run(["bash", "-c", shown], check=True, env={"PATH": os.environ["PATH"]}, timeout=20)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_wrong_is_found_once_and_no_secret_is_told(name: str) -> None:
    snippet, line = OTHERS[name]
    findings = _found(snippet)
    assert _lines(findings) == [line]
    assert findings[0].why
    assert "Hunter2" not in repr(findings)


def test_a_script_that_is_well_has_none() -> None:
    assert _found(WELL) == []


def test_a_script_within_a_script_has_its_lines() -> None:
    text = (
        "srun tee entry.sh <<-EOF\n"
        "\t#!/bin/bash\n"
        '\t[[ -f $CONTNAME ]] && "::worker container not found" && exit 1\n'
        "\tdocker exec $CONTNAME $SSH_ORIGINAL_COMMAND\n"
        "\tEOF\n"
        "srun sh entry.sh\n"
    )
    assert _lines(_found(text)) == [3, 3]


@pytest.mark.parametrize(
    ("line", "also"),
    [
        ("export NCCL_IB_HCA=mlx5_0,mlx5_10", ""),  # none has a name that begins with another's
        (
            "srun bash -c 'NCCL_IB_HCA=mlx5_1 ./a --x'",
            "mlx5_1 is every HCA whose name begins so, such as mlx5_10",
        ),
        ("srun env NCCL_IB_HCA=mlx5 ./a", "mlx5 is every HCA whose name begins so, such as mlx5_0"),
        ("export NCCL_IB_HCA=^mlx5_1", "mlx5_1 is every HCA whose name begins so, such as mlx5_10"),
        ("srun bash -c 'NCCL_IB_HCA= ./a'", ""),
    ],
)
def test_an_example_of_a_prefix_is_a_name_that_hcas_have(line: str, also: str) -> None:
    found = [each.why for each in _found(f"{line}\nsrun a\n") if each.what.startswith("NCCL_IB_HCA")]
    assert [each.partition("prefix: ")[2].removesuffix(" too") for each in found] == [also] * bool(also)


def test_prefixes_are_those_of_the_node_type() -> None:
    text = "export NCCL_IB_HCA=mlx5_1,mlx5_2\nsrun a\n"
    machine = _machine("dgx-a100")
    (finding,) = _found(text, node_type=machine)
    assert "mlx5_10" in finding.why or "mlx5_11" in finding.why
    assert _found("export NCCL_IB_HCA=mlx5_2,mlx5_3\nsrun a\n", node_type=machine) == []


# As NVIDIA's launcher divides the cores, rank r of 8 is on NUMA node r, whatever GPU r hangs on.
def test_exclusive_on_a_dgx_a100_is_away_from_most_gpus() -> None:
    machine = _machine("dgx-a100")
    findings = _found("srun ./bind.sh --cpu=exclusive -- ./a\n", node_type=machine)
    beside = [rank for rank, gpu in enumerate(machine.gpus) if gpu.numa == rank]
    away = [rank for rank in range(8) if rank not in beside]
    (finding,) = findings
    named = finding.why.split("ranks ")[1].split(" of")[0]
    assert _expanded(named) == away


def test_cpus_that_a_machine_without_smt_has_not() -> None:
    machine = _machine("azure-ndm-a100-v4")
    (finding,) = _found("srun ./bind.sh --cpu=exclusive -- ./a\n", node_type=machine)
    assert "no CPU 96-191" in finding.why
    assert all(
        "no CPU" not in each.why
        for each in _found("srun ./bind.sh --cpu=exclusive,nosmt -- ./a\n", node_type=machine)
    )


def test_hcas_of_another_cluster() -> None:
    machine = _machine("dgx-a100")
    text = "srun ./bind.sh --cpu=off --ib=single --cluster={} -- ./a\n"
    assert _found(text.format("selene"), node_type=machine) == []  # NVIDIA's own name for these machines
    assert _found(text.format("circe"), node_type=machine) != []
    assert _found(text.format("azure"), node_type=machine) != []
    assert (
        _found("srun ./bind.sh --cpu=off --ib=single -- ./a\n", node_type=machine) != []
    )  # storage ports too


def _expanded(text: str) -> list[int]:
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


# Pipelines with tee, and after them who reads what its parts gave. 1 is a run whose failure is lost.
PIPELINES = (
    ("srun a | tee x\nexit ${PIPESTATUS[0]}\n", []),
    ("srun a | tee x; rc=${PIPESTATUS[0]}; exit $rc\n", []),
    ("srun a | tee x\nrvs=$((rvs | ${PIPESTATUS[0]}))\nexit $rvs\n", []),
    ("srun a |& tee x\n(( rvs |= PIPESTATUS[0] & 255 ))\nexit $rvs\n", []),
    ("srun a | tee x\nrvs=$((rvs | 0)); echo ${PIPESTATUS[0]}\n", [1]),
    ("srun a | tee x || exit ${PIPESTATUS[0]}\n", [1]),
    ("srun a | tee x && exit ${PIPESTATUS[0]}\n", []),
    ("for i in 1; do\n  srun a | tee x  # log\ndone\n# its own\n[ ${PIPESTATUS[0]} = 0 ] || exit 1\n", []),
    (f"srun a | tee x\n{'#' * 40}\n## status ##\n{'#' * 40}\nexit ${{PIPESTATUS[0]}}\n", []),
    (f"srun a | tee x\n{'#' * 40}\n## PIPESTATUS ##\n", [1]),
    ("{\n  srun a | tee x\n}\n\nexit ${PIPESTATUS[0]}\n", []),
    ("srun a | tee x\nsrun b | tee y\nexit ${PIPESTATUS[0]}\n", [1]),
    ("srun a | tee x\necho done\nexit ${PIPESTATUS[0]}\n", [1]),
    ("srun a | tee x; true; exit ${PIPESTATUS[0]}\n", [1]),
    ("srun a | tee x\nls | cat\necho ${PIPESTATUS[0]}\nsrun b | tee y\n", [1, 4]),
)


@pytest.mark.parametrize(("script", "lines"), PIPELINES)
def test_a_status_of_parts_that_is_read_is_that_of_the_pipeline_before_it(
    script: str, lines: list[int]
) -> None:
    assert _lines([each for each in _found(script) if "the status is that of tee" in each.why]) == lines
    if "exit" in script:
        program = script.replace("srun a", "false").replace("srun b", "true").replace("tee x", "cat")
        done = subprocess.run(["bash", "-c", program.replace("tee y", "cat")], check=False, timeout=60)
        assert (done.returncode == 0) == bool(lines)


# What sets pipefail: the script itself, what it sources, its configuration; no script that it starts.
SHELLS = (
    ("set -euo pipefail\nsrun a | tee x\n", "#!/bin/bash\n./train\n", []),
    ("srun a | tee x\n", "#!/bin/bash\nset -euo pipefail\n./train\n", [1]),
    (". ./run_and_time.sh\nsrun a | tee x\n", "#!/bin/bash\nset -euo pipefail\n", []),
    ("set +o pipefail\nsrun a | tee x\n", "#!/bin/bash\n./train\n", [2]),
)


@pytest.mark.parametrize(("script", "other", "lines"), SHELLS)
def test_pipefail_counts_in_the_shell_that_sets_it(
    script: str, other: str, lines: list[int], tmp_path: Path
) -> None:
    sources = (Source("run.sub", script), Source("run_and_time.sh", other))
    walked = read(sources if ". ./" in script else sources[:1], {})
    reading = structs.replace(walked, sources=sources)
    found = defects.find(reading, Options({}), Draft())
    assert _lines([each for each in found if "the status is that of tee" in each.why]) == lines
    (tmp_path / "run_and_time.sh").write_text(other)
    program = script.replace("srun a", "false").replace("tee x", "cat")
    done = subprocess.run(["bash", "-c", program], check=False, timeout=60, cwd=tmp_path)
    assert (done.returncode == 0) == bool(lines)


# What names the script's own file, and the lines where its folder is taken of that.
FOLDERS = (
    ('D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\nsrun $D/a\n', [2]),
    ('D=$(dirname $0)\nsrun $D/a\nsrun "$(dirname "$(readlink -f "$0")")/b"\n', [2, 4]),
    ('cd "$(dirname "$0")"\nsrun a\n', [2]),
    ("D=`dirname $0`\nsrun a $D\n", [2]),
    ("N=$(basename $0 .sh)\nsrun a --name $N\n", []),
    ("D=$(dirname $1)\nsrun a $D\n", []),
    ('if [ -z "$SLURM_JOB_ID" ]; then D=$(dirname $0); else D=.; fi\nsrun $D/a\n', []),
)


@pytest.mark.parametrize(("script", "lines"), FOLDERS)
def test_the_folder_of_a_script_that_slurm_copies_is_another(script: str, lines: list[int]) -> None:
    for head, expected in (("#SBATCH -N 2\n", lines), ("# no options\n", [])):
        found = [each for each in _found(head + script) if "a copy of the script" in each.why]
        assert _lines(found) == expected


def test_the_folder_of_a_sourced_file_is_its_own() -> None:
    sources = (
        Source("run.sub", "#SBATCH -N 2\n. ./c.sh\nsrun a $D\n"),
        Source("c.sh", "D=$(dirname $BASH_SOURCE)\n"),
    )
    found = defects.find(read(sources, {}), Options({}), Draft())
    assert not [each for each in found if "a copy of the script" in each.why]


@pytest.mark.parametrize("words", ["sudo -S reboot < password.txt", "echo x | sudo -S reboot"])
def test_a_password_that_is_read_is_on_no_command_line(words: str) -> None:
    (found,) = _found(f"{words}\nsrun a\n")
    assert "ps" not in found.why.split()


@pytest.mark.parametrize(
    ("lines", "seen"),
    [
        ("OMP_NUM_THREADS=16\nsrun ./a", ""),
        ("OMP_NUM_THREADS=16 srun ./a", "16"),
        ("OMP_NUM_THREADS=16\nexport OMP_NUM_THREADS\nsrun ./a", "16"),
        ("set -a\nOMP_NUM_THREADS=16\nsrun ./a", "16"),
        ("declare -x OMP_NUM_THREADS=8\nOMP_NUM_THREADS=16\nsrun ./a", "16"),
    ],
)
def test_a_variable_of_a_library_that_no_program_sees_is_a_defect(lines, seen, tmp_path):
    (tmp_path / "srun").write_text('#!/bin/sh\nprintf %s "$OMP_NUM_THREADS"\n')
    (tmp_path / "srun").chmod(0o700)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", lines], env=env, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == seen
    found = convert(classified({"run.sub": f"#!/bin/bash\n#SBATCH -N 1\n{lines}\n"}), Options({}))
    assert ("OMP_NUM_THREADS is set" in [each.what for each in found.findings]) is (not seen)


@pytest.mark.parametrize(
    ("lines", "is_defect"),
    [
        ('UCX_MODE=tcp\nif [ "$KIND" = ucx ]; then export UCX_TLS=$UCX_MODE; fi\nsrun ./a', False),
        (': "${NCCL_TEST:=1}"\nsrun ./a', False),
        (': "${OMP_NUM_THREADS:=4}"\nsrun ./a', True),
        ("if [ -d /w ]; then UCX_TLS=tcp; fi\nsrun ./a", True),
    ],
)
def test_a_variable_that_the_script_reads_itself_need_not_be_exported(lines: str, is_defect: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({"KIND": "plain"}))
    assert any("is not exported" in each.why for each in found.findings) == is_defect
