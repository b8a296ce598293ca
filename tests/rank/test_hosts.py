"""Which table holds on which host, by Slurm's host lists."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_node import Node
from running import Runner

TWO = ("hosts=dgx[001-004]", "cpus=0;1", "hosts=big[1-2],dgx[005-140]", "cpus=2;3")


def cores_on(on_node: Runner, node: Node, host: str, *tables: str) -> tuple[int, str | None, str]:
    env = {"SLURM_LOCALID": "1", "SLURMD_NODENAME": host}
    result = on_node("from=slurm", *tables, "--", "--", "true", env=env)
    return result.returncode, node.cores(), result.stderr.decode()


@pytest.mark.parametrize(
    ("host", "cores"), [("dgx001", "1"), ("dgx004", "1"), ("dgx005", "3"), ("dgx099", "3"), ("big2", "3")]
)
def test_each_host_has_its_table(on_node: Runner, node: Node, host: str, cores: str) -> None:
    assert cores_on(on_node, node, host, *TWO) == (0, cores, "")


@pytest.mark.parametrize(
    "host", ["dgx141", "dgx01", "dgx0001", "dgx", "big3", "login1", "xdgx001", "dgx001x"]
)
def test_a_host_in_no_table_is_named(on_node: Runner, node: Node, host: str) -> None:
    status, cores, said = cores_on(on_node, node, host, *TWO)
    assert (status, cores) == (121, None)
    assert f"host {host}," in said
    assert "dgx[001-004] big[1-2],dgx[005-140]" in said


@pytest.mark.parametrize(
    ("hosts", "host", "named"),
    [
        ("n[8-10]", "n10", True),
        ("n[8-10]", "n08", False),
        ("n[8-10]", "n010", False),
        ("n[08-10]", "n08", True),
        ("n[08-10]", "n8", False),
        ("n[0-1]", "n0", True),
        ("n[1-20]0", "n10", True),  # 1 and a zero, not 10
        ("n[1-20]0", "n200", True),
        ("n[1-20]0", "n20", True),
        ("n[1-20]0", "n2", False),
    ],
)
def test_zeros_count(on_node: Runner, node: Node, hosts: str, host: str, named: bool) -> None:
    assert cores_on(on_node, node, host, f"hosts={hosts}", "cpus=0;1")[0] == (0 if named else 121)


def test_the_first_of_two_tables_holds(on_node: Runner, node: Node) -> None:
    tables = ("hosts=a[1-9]", "cpus=0;1", "hosts=a1", "cpus=2;3", "hosts=b", "cpus=4;5")
    assert cores_on(on_node, node, "a1", *tables) == (0, "1", "")


def test_what_only_another_hosts_table_has_is_not_used(on_node: Runner, node: Node) -> None:
    tables = ("hosts=a", "hosts=b", "cpus=4;5", "membind=0;1")
    assert cores_on(on_node, node, "a", *tables) == (0, None, "")
    assert node.policy() is None


def test_without_slurms_name_the_kernels_is_used(on_node: Runner, node: Node) -> None:
    """The hostname may have its domain, which the list has not."""
    for name in ("dgx004", "dgx004.example.org"):
        node.write("proc/sys/kernel/hostname", name)
        result = on_node("from=slurm", *TWO, "--", "--", "true", env={"SLURM_LOCALID": "0"})
        assert (result.returncode, node.cores()) == (0, "0")


NUMBER = st.integers(0, 120)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A bracket group, and the numbers that it stands for as they are written."""
    texts, written = [], []
    for _ in range(draw(st.integers(1, 3))):
        low, more = draw(NUMBER), draw(st.sampled_from((0, 0, 1, 7, 95)))
        first = str(low).zfill(draw(st.integers(1, 4)))
        last = str(low + more).zfill(len(first))
        texts.append(f"{first}-{last}" if more else first)
        written += [str(number).zfill(len(first)) for number in range(low, low + more + 1)]
    return f"[{','.join(texts)}]", written


@st.composite
def host_lists(draw: st.DrawFn) -> tuple[str, set[str]]:
    """A list of one to three elements with up to two groups in each, and every host that it names."""
    texts, named = [], set()
    for _ in range(draw(st.integers(1, 3))):
        text, hosts = "", [""]
        for _ in range(draw(st.integers(0, 2))):
            head = draw(st.sampled_from(("dgx", "su1-n", "0", "n", "-")))
            group, written = draw(ranges())
            text += head + group
            hosts = [host + head + number for host in hosts for number in written]
        tail = draw(st.sampled_from(("", "a", "1", "-ib0")) if text else st.sampled_from(("login", "dgx1")))
        texts.append(text + tail)
        named |= {host + tail for host in hosts}
    return ",".join(texts), named


@settings(max_examples=40, deadline=None)
@given(data=st.data(), made=host_lists())
def test_any_list_names_the_hosts_that_it_stands_for(
    shell_on_node: tuple[Runner, Node], data: st.DataObject, made: tuple[str, set[str]]
) -> None:
    on_node, node = shell_on_node
    text, named = made
    host = data.draw(st.sampled_from(sorted(named)))
    change = data.draw(st.sampled_from(("none", "cut", "zero", "more", "digit")))
    host = {
        "none": host,
        "cut": host[:-1] or "x",
        "zero": host.replace("n", "n0", 1) if "n" in host else host.replace("dgx", "dgx0", 1),
        "more": host + "0",
        "digit": host.replace("1", "2", 1),
    }[change]
    status, cores, _ = cores_on(on_node, node, host, f"hosts={text}", "cpus=0;1")
    assert (status, cores) == ((0, "1") if host in named else (121, None)), (text, host)
