"""What `doctor` makes of a user's limits on a file system, from what `quota` and `lfs quota` print."""

from collections.abc import Sequence

import pytest

from hpclaunch.records import quota

HEAD = (
    "Disk quotas for user ada (uid 1000): {}\n"
    "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"
)
NONE = "Disk quotas for user ada (uid 1000): none\n"
GIB = 1 << 20  # in blocks of 1 KiB


def row(name: str, kib: int, soft: int, hard: int, files: str = "7        0       0") -> str:
    star = "*" if kib >= (hard or kib + 1) or kib > (soft or kib) else " "
    return HEAD.format("") + f"{name} {kib:7}{star} {soft:6} {hard:7}       0 {files}       0\n"


def looked(kind: str, status: int, out: str, err: str = "") -> tuple[str, str]:
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> tuple[int, str, str]:
        asked.append(command)
        return status, out, err

    check = quota.quota_check("/home", kind, "1000", run)
    assert asked[0][-1] == "/home"
    assert asked[0][0] == ("lfs" if kind == "lustre" else "quota")
    return check.result, check.found


@pytest.mark.parametrize(
    ("kind", "status", "out", "result", "said"),
    [
        ("nfs4", 0, row("server:/export/a b", 5 * GIB, 0, 10 * GIB), "ok", "5.0 GiB of 10.0 GiB and 7 files"),
        ("nfs", 0, row("/dev/sda1", 39 * GIB // 4, 0, 10 * GIB), "warning", "9.8 GiB of 10.0 GiB"),
        ("ext4", 1, row("/dev/sda1", 10 * GIB, 8 * GIB, 10 * GIB), "bad", "10.0 GiB of 10.0 GiB"),
        ("ext4", 1, row("/dev/sda1", 6 * GIB, 5 * GIB, 10 * GIB), "warning", "6.0 GiB of 10.0 GiB"),
        ("xfs", 1, row("/dev/sda1", 1, 0, 0, "500*     0     500"), "bad", "500 files of 500 files"),
        ("nfs4", 0, NONE, "ok", "no limit"),
        ("lustre", 0, f"     /home  {GIB}  0 {2 * GIB}  -  12  0  0  -\n", "ok", "1.0 GiB of 2.0 GiB"),
        (
            "lustre",
            0,
            f"/lustre/fsw/projects\n               {3 * GIB}* 0 {2 * GIB} - 12 0 1000000 -\n",
            "bad",
            "3.0 GiB of 2.0 GiB and 12 files of 1,000,000 files",
        ),
        ("lustre", 0, f" /home [{GIB}] 0 [{2 * GIB}] - [12] 0 0 -\n", "ok", "1.0 GiB of 2.0 GiB"),
    ],
)
def test_what_is_left(kind: str, status: int, out: str, result: str, said: str) -> None:
    found = looked(kind, status, out)
    assert found[0] == result, found
    assert said in found[1]


@pytest.mark.parametrize(
    ("kind", "out", "err"),
    [
        ("ext4", "", "quota: Mountpoint (or device) /home not found or has no quota enabled.\n"),
        ("lustre", "", "quotactl failed: Operation not permitted\n"),
    ],
)
def test_what_nobody_tells_is_not_known(kind: str, out: str, err: str) -> None:
    found = looked(kind, 1, out, err)
    assert found[0] == "not known"
    assert err.strip() in found[1]


def test_a_machine_without_the_program() -> None:
    def run(command: Sequence[str]) -> tuple[int, str, str]:
        raise FileNotFoundError(2, "No such file or directory", command[0])

    assert quota.quota_check("/home", "nfs4", "1000", run).result == "not known"
