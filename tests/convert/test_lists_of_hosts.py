"""Lists of hosts that deepspeed is given: it starts a process for each slot of each host."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_LIST = "cat > hosts <<EOF\na slots=4\nb slots=4\nEOF\n"


@pytest.mark.parametrize(
    ("lines", "nodes", "ranks"),
    [
        (f"{_LIST}deepspeed --hostfile=hosts t.py", "2", "4"),
        (f"{_LIST}deepspeed --hostfile hosts --num_gpus 2 t.py", "2", "2"),
        (f"{_LIST}deepspeed --hostfile hosts --num_nodes 1 t.py", "1", "4"),
        ("deepspeed --hostfile /job/hosts --no_ssh --node_rank $1 t.py", ASK, None),
        ('deepspeed --hostfile="" --num_gpus 2 t.py', None, "2"),
    ],
)
def test_nodes_and_ranks_are_those_of_the_list(lines: str, nodes: str | None, ranks: str | None) -> None:
    job = loaded(convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n"}), Options({})).job)
    assert (job.get("nodes"), job.get("ranks_per_node")) == (nodes, ranks)


@pytest.mark.parametrize(
    ("lines", "nodes"),
    [
        ("gpus=$(ds_ssh nvidia-smi -L | wc -l)\ndeepspeed t.py --gpus $gpus", ASK),
        ("deepspeed --num_nodes 3 t.py\nds_ssh rm -rf /tmp/cache", "3"),
        ("ds_ssh -f mine uptime\ndeepspeed --include a:0,1@b:0,1 t.py", "2"),
        ("ssh b nvidia-smi\ndeepspeed t.py", "1"),
    ],
)
def test_a_script_that_asks_all_hosts_of_deepspeeds_own_list_is_not_of_one_node(
    lines: str, nodes: str
) -> None:
    job = loaded(convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n"}), Options({})).job)
    assert str(job["nodes"]) == nodes


def test_hosts_that_no_line_names_are_asked_for_by_their_option() -> None:
    found = convert(classified({"go.sh": "deepspeed --include=$where:0,1 t.py\n"}), Options({}))
    [asked] = [each.why for each in found.findings if each.kind == "question" and each.key == "nodes"]
    assert asked == "how many nodes: which hosts --include=${where}:0,1 names is not told"


@pytest.mark.parametrize(
    ("devices", "count"), [('"device=6, 7"', "2"), ('"device=0,1,2"', "3"), ("2", "2"), ("device=3", "1")]
)
def test_devices_of_docker_are_counted(devices: str, count: str) -> None:
    line = f"docker run --gpus '{devices}' lab/t:1 ./t"
    found = convert(classified({"go.sh": f"#!/bin/bash\n{line}\n"}), Options({})).findings
    assert f"gpus_per_node: {count}" in [each.became for each in found]


@pytest.mark.parametrize(
    ("lines", "nodes"),
    [
        ("hostname > hosts", "1"),
        ("rm -f hosts; for i in 1 2; do echo `hostname` >> hosts; done", "1"),
        ("echo localhost slots=4 > ./hosts", "1"),
        ("echo $HOSTNAME > hosts; cat others >> hosts", ASK),
        ("echo node7 > hosts", ASK),
        ("ssh node7 hostname > hosts", ASK),
        ("hostname > hostname.txt", ASK),
    ],
)
def test_a_list_of_its_own_host_is_of_one_node(lines: str, nodes: str) -> None:
    text = f"{lines}\nmpirun -np 4 -hostfile hosts ./t\n"
    job = loaded(convert(classified({"go.sh": text}), Options({})).job)
    assert str(job["nodes"]) == nodes
    assert str(job["ranks_per_node"]) == ("4" if nodes == "1" else ASK)


@pytest.mark.parametrize("option", ["-hostfile $many.hosts", "--hostfile=lists/${many}.hosts"])
def test_a_file_whose_name_variables_make_is_the_list_that_is_given(option: str) -> None:
    text = f"#!/bin/bash\nmany=${{many:-two}}\nmpirun -np 8 {option} ./sift\n"
    files = {"go.sh": text, "two.hosts": "oak slots=4\nelm slots=4\n"}
    found = convert(classified(files), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"]) == ("2", "4")
    assert not [each for each in found.findings if "not given" in each.why or each.what == "a list of hosts"]


@pytest.mark.parametrize(
    ("writes", "nodes", "ranks"),
    [
        ('echo "n1 slots=2\nn2 slots=2\nn3 slots=2" > hosts', "3", "2"),
        ('echo "n1 slots=2" > hosts\necho "n2 slots=2" >> hosts', "2", "2"),
        ('rm -f hosts\necho "n1 slots=2" >> hosts\necho "n2 slots=2" >> hosts', "2", "2"),
        ('echo "n1 slots=2" >> hosts', ASK, "2"),
        ('echo "n1 slots=2" > hosts\n[ -e x ] && echo "n2 slots=2" >> hosts', ASK, "2"),
        ('echo "n1 slots=2" > hosts\necho "$MORE slots=2" >> hosts', ASK, "2"),
        ('echo "n1 slots=4\nn2 slots=2" > hosts', "2", ASK),
        ('echo "n1 slots=4" > hosts\necho "n2 slots=2" >> hosts', "2", ASK),
    ],
)
def test_hosts_that_echo_writes_with_their_slots_are_counted(writes: str, nodes: str, ranks: str) -> None:
    box = "docker run -d --name box --network host lab/t:1 sleep infinity"
    text = f"#!/bin/bash\n{box}\n{writes}\ndocker exec box mpirun --hostfile hosts ./t\n"
    job = loaded(convert(classified({"go.sh": text}), Options({})).job)
    assert (str(job["nodes"]), str(job["ranks_per_node"])) == (nodes, ranks)


_OF_JOB = "scontrol show hostnames $SLURM_JOB_NODELIST"
_EACH = f"for host in $({_OF_JOB}); do"


@pytest.mark.parametrize(
    ("writes", "ranks"),
    [
        (f'{_OF_JOB} | while read -r host; do echo "$host slots=2"; done > crew.hosts', "2"),
        (f'{_EACH} echo "$host slots=$SLURM_NTASKS_PER_NODE" >> ./crew.hosts; done', "3"),
        (f"{_EACH} echo $host slots=2 >> crew.hosts; done", "2"),
        (f"{_OF_JOB} | sed 's/$/ slots=2/' > crew.hosts", "2"),
        (f"{_OF_JOB} | awk '{{print $0\" slots=2\"}}' | tee crew.hosts", "2"),
        (f'{_EACH} echo "$host slots=$SLURM_GPUS_ON_NODE" >> crew.hosts; done', "4"),
        (f'{_EACH} echo "$host slots=$OARS" >> crew.hosts; done', ASK),
        (f'{_EACH} echo "$host slots=2$OARS" >> crew.hosts; done', ASK),
        (f'{_EACH} printf "%s slots=%d\\n" $host 2 >> crew.hosts; done', ASK),
        (f'echo "$(hostname) slots=1" > crew.hosts\n{_EACH} echo "$host slots=2" >> crew.hosts; done', ASK),
        (f'{_EACH} echo "$host slots=2" >> other.hosts; done', "4"),
        (f'{_EACH} echo "$host max_slots=2" >> crew.hosts; done', "4"),
    ],
)
def test_the_slots_that_a_script_writes_beside_each_host_of_the_job_are_the_ranks_of_a_node(
    writes: str, ranks: str
) -> None:
    asks = "#SBATCH -N 2 --ntasks-per-node=3 --gpus-per-node=4 -t 10"
    text = f"#!/bin/bash\n{asks}\n{writes}\ndeepspeed --hostfile=crew.hosts row.py\n"
    job = loaded(convert(classified({"go.sh": text}), Options({})).job)
    assert (str(job["nodes"]), str(job["ranks_per_node"])) == ("2", ranks)


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ('hosts=()\nif [ -f list ]; then hosts+=(--hostfile list); fi\nmpirun -np 4 "${hosts[@]}" ./a', ASK),
        ("hosts=\nif [ -f list ]; then hosts='-H a,b'; fi\nmpirun -np 4 $hosts ./a", ASK),
        ("more=\nif [ -f list ]; then more='--tag-output'; fi\nmpirun -np 4 $more ./a", None),
    ],
)
def test_hosts_that_a_variable_has_in_one_case_are_asked_for_and_the_ranks_of_each(
    given: str, nodes: str | None
) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{given}\n"}), Options({}))
    job = loaded(found.job)
    ranks = "4" if nodes is None else ASK
    assert (job.get("nodes"), job["ranks_per_node"]) == (nodes, ranks)
    said = [each.why for each in found.findings if each.key == "nodes"]
    assert (nodes is None) == any("without a list of hosts" in each for each in said)
