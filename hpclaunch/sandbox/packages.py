"""Which of the programs and libraries that a sandbox needs this machine has."""

import os
import platform
import re
import shutil
import subprocess
from glob import glob

_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/local/sbin"))

# What is looked for, and the Debian and Ubuntu package that has it.
_PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "munged": "munge",
    "cc": "gcc",
    "unshare": "util-linux",
    "taskset": "util-linux",
    "numactl": "numactl",
    "mount": "mount",
    "hostname": "hostname",
}
_OF_ACCOUNTING = {
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "sacctmgr": "slurm-client",
}
_FILES = {
    "/usr/include/slurm/spank.h": "libslurm-dev",
    "/usr/include/*/bits/libc-header-start.h": "libc6-dev",
    "/usr/include/linux/mempolicy.h": "linux-libc-dev",
}
# Slurm's PMIx plugin loads the library by the name that only the development package has (mpi_pmix.c,
# _libpmix_open): without it `srun --mpi=pmix` says "can not load PMIx library".
_PMIX = ("/usr/lib/*/pmix2/lib/libpmix.so", "/usr/lib/*/libpmix.so", "/usr/lib64/libpmix.so")


def find(program: str) -> str:
    """The path of a program, looked for in the system administrator's folders too; "" if there is none."""
    return shutil.which(program, path=_PATH) or ""


def missing(accounting: bool = False) -> tuple[str, ...]:
    """The packages to install, by their names on Debian 12; empty if all is there."""
    programs = {**_PROGRAMS, **(_OF_ACCOUNTING if accounting else {})}
    absent = [package for program, package in programs.items() if not find(program)]
    absent += [package for pattern, package in _FILES.items() if not glob(pattern)]
    if not any(glob(pattern) for pattern in _PMIX):
        absent.append("libpmix-dev")
    return tuple(dict.fromkeys(absent))


def advice(packages: tuple[str, ...]) -> str:
    """One line that says what is missing and how it is installed."""
    names = " ".join(packages)
    if not find("apt-get"):
        return f"the sandbox needs Slurm and a C compiler; Debian calls the missing packages: {names}"
    sudo = "" if os.getuid() == 0 else "sudo "
    return f"the sandbox needs packages: {sudo}apt-get install --no-install-recommends {names}"


def slurm_version() -> str:
    """Major and minor of the Slurm on this machine, "22.05". Raises OSError where slurmctld does not run."""
    said = subprocess.run([find("slurmctld"), "-V"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"(\d+\.\d+)\.", said)
    if not match:
        raise OSError(f"slurmctld -V said {said.strip()!r}, which has no version")
    return match.group(1)


def system() -> str:
    """The distribution, "Debian GNU/Linux 12 (bookworm)"."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
