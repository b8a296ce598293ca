"""Launchers for GPUs that a script starts on its hosts by ssh or pdsh."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_LAUNCH = "torchrun --nnodes={} --node_rank=$i --nproc_per_node=4 --master_addr=a t.py --lr 1"
_IN_FILE = (
    "cat > /tmp/go.sh <<EOF\nsource /opt/env.sh\ntorchrun --nnodes=2 --nproc_per_node=4 "
    "--node_rank=\\$R --master_addr=a t.py --lr 1\nEOF\npdsh -w a,b bash /tmp/go.sh"
)


def _converted(lines: str) -> Conversion:
    return convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n"}), Options({}))


def _job(lines: str) -> dict[str, Any]:
    return loaded(_converted(lines).job)


@pytest.mark.parametrize(
    "lines",
    [
        f"i=0\nfor h in a b; do\nssh $h {_LAUNCH.format(2)} &\n((i=i+1))\ndone\nwait",
        f'h=(a b)\nfor ((i=0;i<${{#h[@]}};i++)); do\nssh me@${{h[i]}} "{_LAUNCH.format("${#h[@]}")}" &\ndone',
        f"on() {{ local i=$2; ssh $1 '{_LAUNCH.format(2).replace('$i', '0')}'; }}\non a 0 &\non b 1 &\nwait",
        _IN_FILE,
    ],
)
def test_a_launcher_on_each_host_is_one_run(lines: str) -> None:
    job = _job(lines)
    assert (job["nodes"], job["ranks_per_node"], job["rendezvous"]) == ("2", "4", "torch")
    assert job["gpus_per_node"] == ASK
    assert str(job["command"]).replace("'", "").replace(",", "").strip("[]") == "python -u t.py --lr 1"


def test_variables_and_folder_in_front_are_the_ranks() -> None:
    job = _job(
        'for h in a b; do ssh $h "cd /w; A=1 torchrun --nnodes 2 --nproc_per_node 4 t.py" & done; wait'
    )
    assert (job["workdir"], job["env"]["A"]) == ("/w", "1")


def test_a_text_for_other_hosts_that_is_not_read_is_said_to_have_a_launcher() -> None:
    found = _converted("ssh a bash -c 'exec bash' <<EOF\ntorchrun t.py\nEOF")
    assert found.refused.endswith("torchrun in it is not read")


@pytest.mark.parametrize("shell", ["bash -s", "bash", "sh -e", ""])
@pytest.mark.parametrize("end", ["EOF", "'EOF'"])
def test_a_text_that_ssh_is_given_to_read_is_as_one_in_its_words(shell: str, end: str) -> None:
    text = "export A=1\ncd /w\ntorchrun --nnodes 2 --nproc_per_node 4 --master_addr a t.py\n"
    by_input = _job(f"for h in a b; do\nssh $h {shell} <<{end} &\n{text}EOF\ndone\nwait")
    by_words = _job(f"for h in a b; do\nssh $h '{text}' &\ndone\nwait")
    assert by_input == by_words
    assert (by_input["nodes"], by_input["workdir"], by_input["env"]["A"]) == ("2", "/w", "1")


def test_what_ssh_hands_on_to_nobody_and_where_it_starts_is_said() -> None:
    """The variables of a shell do not reach sshd, which starts a command in the user's home (ssh(1))."""
    launch = 'for h in a b; do ssh $h "B=2 torchrun --nnodes 2 --nproc_per_node 4 t.py" & done; wait'
    found = _converted(f"export A=1 B=1\n{launch}")
    assumed = {each.what: each for each in found.findings if each.kind == "assumed"}
    assert "ssh hands on none" in assumed["A"].why
    assert "home of the user" in assumed["the working folder"].why
    assert loaded(found.job)["env"] == {"A": "1", "B": "2", "OMP_NUM_THREADS": "1"}


def test_hosts_of_another_number_than_the_launcher_says_are_told() -> None:
    found = _converted("for h in a b c; do ssh $h torchrun --nproc_per_node 4 t.py; done").findings
    assert any(
        each.what == "a loop over a b c" and each.why.endswith("starts there says 1") for each in found
    )


def test_what_a_text_sources_is_told() -> None:
    assert any(
        each.what == "source /opt/env.sh" and each.kind == "left" for each in _converted(_IN_FILE).findings
    )


def test_what_is_no_launcher_is_not_said_to_be_nothing() -> None:
    found = _converted('for h in a b; do ssh $h "python t.py --host $h"; done')
    assert found.refused == "go.sh:2: what ssh starts on other hosts is no launcher known here"


_LIST = "HOSTS=($(scontrol show hostnames $SLURM_JOB_NODELIST))\n"


@pytest.mark.parametrize(
    ("lines", "is_asked"),
    [
        (f"{_LIST}for h in ${{HOSTS[@]}}; do ssh $h ./helper & done\npython lead.py", True),
        (f"{_LIST}for i in 0 1; do ssh ${{HOSTS[$i]}} './helper 1' & done\npython lead.py", True),
        (f"{_LIST}for h in ${{HOSTS[@]}}; do ssh $h mkdir -p /tmp/w & done\nwait\npython lead.py", False),
        ("ssh -N -f -R 9000:localhost:9000 login1 &\npython lead.py", False),
        ("python lead.py\nfor h in a b; do ssh $h ./helper & done", False),
    ],
)
def test_what_ssh_starts_on_other_nodes_goes_on_beside_the_run(lines: str, is_asked: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 5\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    asked = {each.key for each in found.findings if each.kind == "question" and each.key}
    assert ({"nodes", "command"} <= asked) is is_asked
    assert any("do nothing" in each.why or "stand idle" in each.why for each in found.findings) != is_asked


def test_the_tee_of_a_script_that_is_started_on_each_host_is_told_once() -> None:
    script = (
        "torchrun --nnodes 2 --nproc_per_node 4 --node_rank $RANK_OF --master_addr a t.py | tee fit.log\n"
    )
    lines = "export RANK_OF=0\nbash fit.sh &\nssh b 'cd /w && export RANK_OF=1 && bash fit.sh' &\nwait\n"
    files = {"go.sh": f"#!/bin/bash\n{lines}", "fit.sh": f"#!/bin/bash\n{script}\n"}
    found = convert(classified(files), Options({})).findings
    assert len([each for each in found if each.what == "tee fit.log"]) == 1


_ONE = 'docker exec box bash -c "cd /w && ./ring 0 2"'
_OTHER = "ssh n2 \"docker exec box bash -c 'cd /w && ./ring 1 2'\""


@pytest.mark.parametrize(
    ("lines", "at_once"),
    [
        (f"{_ONE} &\n{_OTHER} &\nwait", True),
        (f"{_ONE} &\n{_OTHER.replace('ring', 'test')} &\nwait", True),  # whichever is taken for the run
        (f"{_ONE} &\nwait\n{_OTHER}", False),
    ],
)
def test_ranks_of_containers_that_go_on_at_once_are_no_steps_behind_one_another(
    lines: str, at_once: bool
) -> None:
    found = _converted(lines)
    job = loaded(found.job)
    assert len(job.get("after", []) + job.get("setup", [])) == (0 if at_once else 1)
    asked = {each.key for each in found.findings if each.kind == "question"}
    assert ({"command", "nodes"} <= asked) is at_once


@pytest.mark.parametrize("by", ["ssh a", "bash -c"])
def test_what_a_text_does_to_its_shell_each_rank_does_in_that_order(by: str) -> None:
    does = 'export PATH=/opt/c/bin:$PATH && eval "$(conda shell.bash hook)" && conda activate w'
    found = _converted(f"{by} '{does}; ulimit -n 4096; torchrun --nproc_per_node 4 t.py'")
    assert not [each for each in found.findings if "condition" in each.why]
    assert loaded(found.job)["command"] == [
        "bash",
        "-lc",
        'export PATH=/opt/c/bin:"$PATH"; eval "$(conda shell.bash hook)" && conda activate w; '
        "ulimit -n 4096; exec python -u t.py",
    ]
