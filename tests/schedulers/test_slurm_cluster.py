"""What scontrol and srun print, in the forms of several releases. A real Slurm's is read in tests/sandbox."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.schedulers.slurm_cluster import (
    parse_config,
    parse_gres,
    parse_leaves,
    parse_mpi,
    parse_nodes,
    parse_partitions,
)
from hpclaunch.values.cluster import Gres

# 23.11, shortened by what is not read; the reason was written by an administrator.
NODE = (
    "NodeName=dgx001 Arch=x86_64 CoresPerSocket=56  CPUAlloc=0 CPUEfctv=224 CPUTot=224 CPULoad=0.05 "
    "AvailableFeatures=h100,ib ActiveFeatures=h100,ib Gres=gpu:h100:8(S:0-1) NodeAddr=dgx001 "
    "NodeHostName=dgx001 Version=23.11.4 OS=Linux 5.15.0-1042-nvidia #42-Ubuntu SMP Sockets=9 "
    "RealMemory=2062000 AllocMem=0 FreeMem=2000000 Sockets=2 Boards=1 State=IDLE+DRAIN ThreadsPerCore=2 "
    "TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=batch,debug BootTime=2026-01-05T09:00:00 "
    "CfgTRES=cpu=224,mem=2062000M,billing=224 AllocTRES= Reason=Gres=gpu:h100:4 is what is left "
    "[root@2026-01-07T10:00:00]"
)


def test_a_node() -> None:
    nodes, unread = parse_nodes(f"{NODE}\n\n")
    assert unread == ()
    (node,) = nodes
    assert (node.name, node.cores_per_socket, node.threads_per_core, node.memory_mib) == (
        "dgx001",
        56,
        2,
        2062000,
    )
    assert node.gpus == (Gres("h100", 8),)
    assert node.partitions == ("batch", "debug")


def test_a_node_that_is_not_understood_is_named() -> None:
    nodes, unread = parse_nodes(
        f"{NODE}\n{NODE.replace('dgx001', 'dgx002').replace('CoresPerSocket', 'Cores')}"
    )
    assert [node.name for node in nodes] == ["dgx001"]
    assert unread == ("dgx002",)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("(null)", ()),
        ("", ()),
        ("gpu:8", (Gres("", 8),)),
        ("gpu:a100:8(S:0-1)", (Gres("a100", 8),)),
        ("gpu:a100:4(S:0),gpu:a100:4(S:1)", (Gres("a100", 8),)),
        ("gpu:1g.5gb:42(S:0,2-3),gpu:3g.20gb:4(S:0-1),shard:16", (Gres("1g.5gb", 42), Gres("3g.20gb", 4))),
        ("craynetwork:4,gpu:tesla_v100:16", (Gres("tesla_v100", 16),)),
        ("gpu:a100:0", ()),
        ("nic:mlx5:8", ()),
    ],
)
def test_gres(text: str, gpus: tuple[Gres, ...]) -> None:
    assert parse_gres(text) == gpus


def test_partitions() -> None:
    text = (
        "PartitionName=batch AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=YES QoS=N/A "
        "Nodes=dgx[001-140] OverSubscribe=EXCLUSIVE State=UP TotalNodes=140\n"
        "PartitionName=own AllowGroups=ALL AllowAccounts=adas,nlp Default=NO Nodes=(null) "
        "OverSubscribe=FORCE:4 State=DRAIN\n"
    )
    batch, own = parse_partitions(text)
    assert (batch.name, batch.default, batch.accounts, batch.nodes) == ("batch", True, (), "dgx[001-140]")
    assert (own.default, own.accounts, own.nodes) == (False, ("adas", "nlp"), "")
    assert (batch.oversubscribe, own.oversubscribe, own.state) == ("EXCLUSIVE", "FORCE:4", "DRAIN")


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        (
            "SwitchName=su1 Level=0 LinkSpeed=1 Nodes=a[1-20] \n"
            "SwitchName=su2 Level=0 LinkSpeed=1 Nodes=a[21-40] \n"
            "SwitchName=spine Level=1 LinkSpeed=1 Nodes=a[1-40] Switches=su[1-2] \n",
            ("a[1-20]", "a[21-40]"),
        ),
        (  # 24.05
            "BlockName=b1 BlockIndex=0 Nodes=n[01-18] BlockSize=18\n"
            "BlockName=b2 BlockIndex=1 Nodes=n[19-36] BlockSize=18\n"
            "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[01-36] BlockSize=36\n",
            ("n[01-18]", "n[19-36]"),
        ),
        ("", ()),
    ],
)
def test_leaves(text: str, leaves: tuple[str, ...]) -> None:
    assert parse_leaves(text) == leaves


@pytest.mark.parametrize(
    ("text", "plugins"),
    [
        ("srun: MPI types are...\nsrun: cray_shasta\nsrun: none\nsrun: pmi2\nsrun: pmix\nsrun: pmix_v3\n",
         {"none", "pmi2", "pmix", "pmix_v3", "cray_shasta"}),
        ("MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\n"
         "specific pmix plugin versions available: pmix_v4,pmix_v5\n",
         {"none", "pmi2", "pmix", "pmix_v4", "pmix_v5"}),
    ],
)  # fmt: skip
def test_mpi(text: str, plugins: set[str]) -> None:
    assert set(parse_mpi(text)) == plugins


def test_configuration() -> None:
    text = (
        "Configuration data as of 2026-01-05T09:00:00\n"
        "SLURM_VERSION           = 23.11.4\n"
        "TaskPlugin              = task/affinity,task/cgroup\n"
        "SchedulerParameters     = bf_interval=10,max_switch_wait=600\n"
        "\nCgroup Support Configuration:\nConstrainCores          = yes\n"
        "\nSlurmctld(primary) at head is UP\n"
    )
    found = parse_config(text)
    assert found["taskplugin"] == "task/affinity,task/cgroup"
    assert found["schedulerparameters"] == "bf_interval=10,max_switch_wait=600"
    assert (found["slurm_version"], found["constraincores"]) == ("23.11.4", "yes")


CUT = st.builds(
    lambda text, cuts: "".join(part for index, part in enumerate(text.split(" ")) if index not in cuts),
    st.just(NODE),
    st.sets(st.integers(0, 60), max_size=8),
)


@given(st.one_of(st.text(), CUT, CUT.map(lambda text: text.replace("=", " = "))))
def test_no_text_breaks_a_reader(text: str) -> None:
    """Each gives back what it understood: names that stand in the text, numbers that are whole."""
    nodes, unread = parse_nodes(text)
    assert all(f"NodeName={name}" in text for name in (*(node.name for node in nodes), *unread))
    assert all(node.sockets >= 0 and gres.count > 0 for node in nodes for gres in node.gpus)
    for reader in (parse_config, parse_gres, parse_leaves, parse_mpi, parse_partitions):
        reader(text)
