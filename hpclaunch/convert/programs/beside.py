"""Programs that stand beside a launch and start none of it, by what they do: each is in one group.

Who looks for some of them asks for groups, and says which programs of these it takes otherwise.

`find`, `xargs` and their like start what their words say, and are not among them.
"""

from collections.abc import Mapping
from typing import Literal

from hpclaunch.convert.programs.names import SHELLS

# fmt: off
Does = Literal[
    "says", "shell", "enters", "looks", "words", "texts", "edits", "devices", "settings", "caches",
    "copies", "files", "archives", "fetches", "builds", "compiles", "ends", "scripts",
]
# fmt: on

_BY_WHAT_THEY_DO: Mapping[Does, str] = {
    # They say something, or wait, and read nothing.
    "says": "echo printf true : sleep",
    # Commands and keywords of the shell that start nothing and change nothing of what is started.
    "shell": """
        set shopt false local declare typeset readonly unset shift return exit trap wait test [ [[ (( type
        command read if then else elif fi for while until do done case esac function { } ( ) break continue
        let eval getopts select time ! mapfile alias unalias
    """,
    # They change what the shell's next commands are, or where these run.
    "enters": "cd pushd popd source . export umask hash ml conda",
    # They tell something of the machine, the user, the queue or a file.
    "looks": """
        cat date ls pwd hostname whoami id uname env which printenv lscpu nproc free df du stat uptime ps top
        lsof ibstat ibstatus ibv_devinfo nvcc squeue sinfo sacct sprio getent
        ldd nm readelf objdump
    """,
    # They print what they make of their own words,
    "words": "seq basename dirname readlink realpath expr",
    # of what they read,
    "texts": "grep zgrep cut tr head tail paste wc od uniq zcat jq yq bc diff cmp md5sum sha256sum",
    # and into a file too, where their words say so.
    "edits": "awk sed sort tee",
    # They look at the node's GPUs and network, or change something of them: their words say which;
    "devices": "nvidia-smi rocm-smi dcgmi ip ifconfig rdma",
    # so do these with the job and the script's own shell.
    "settings": "scontrol module ulimit",
    # They have what is in the node's memory written to its disks, or the other way round.
    "caches": "sync vmtouch",
    "copies": "cp rsync",
    # They change the files and folders that their words name, and no others.
    "files": "mkdir rmdir rm mv touch chmod chown chgrp truncate",
    # They make files and folders whose names stand in no word of theirs, or only as part of one.
    "archives": "ln tar zip unzip gzip gunzip dd",
    "fetches": "wget curl git scp sbcast aws gsutil gcloud azcopy az s3cmd hf huggingface-cli",
    "builds": "pip pip3 uv make cmake ninja apt apt-get yum dnf",
    # CC, cc and ftn are Cray's (cc(1)).
    "compiles": """
        gcc g++ gfortran c++ clang clang++ icc icpc ifort icx icpx ifx nvc nvc++ nvfortran hipcc CC cc ftn
        mpicc mpicxx mpic++ mpiCC mpif77 mpif90 mpifort mpiicc mpiicpc mpiifort
    """,
    # They end a job, or processes.
    "ends": "scancel kill pkill killall skill fuser",
    # They run a script that is a file.
    "scripts": f"python python3 {' '.join(sorted(SHELLS))}",
}


def that(*does: Does) -> frozenset[str]:
    """The programs that do one of these."""
    return frozenset(name for each in does for name in _BY_WHAT_THEY_DO[each].split())


PLUMBING = that("says", "shell", "looks")  # without effect on what is launched
# Ranks are never there for these alone: they look at the nodes, test or prepare them.
PREPARES = that("says", "looks", "devices", "settings", "caches", "copies", "files", "archives")
