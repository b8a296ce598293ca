"""A stand-in for the package pyslurm, copied to where it is imported from: not the real one.

It has the real one's names, its signatures, and the faults that its source has at the tags v22.5.3 to
v25.11.2 (pyslurm/core/job/submission.pyx and .pxd, pyslurm/utils): #SBATCH lines are not read; `switches`,
`signal` and `cores_reserved_for_system` are taken and come to nothing; 0 is "not set"; "" is NULL; text must
be UTF-8; and every SLURM_* of this process goes to the job. It sends with sbatch, from a copy of the script
without its #SBATCH lines.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

_SBATCH = shutil.which("sbatch")
NO_VAL64 = 0xFFFFFFFFFFFFFFFE
MEM_PER_CPU = 0x8000000000000000
_NAMES = """
    name account user_id group_id priority site_factor wckey array batch_constraints begin_time
    clusters cluster_constraints comment admin_comment requires_contiguous_nodes
    cores_reserved_for_system threads_reserved_for_system working_directory cpu_frequency nodes
    deadline delay_boot_time dependencies excluded_nodes required_nodes constraints
    kill_on_node_fail licenses mail_user mail_types mcs_label memory_per_cpu memory_per_node
    memory_per_gpu network nice log_files_open_mode overcommit partitions profile_types
    accounting_gather_frequency qos requires_node_reboot is_requeueable reservations script
    script_args environment resource_sharing distribution time_limit time_limit_min container
    cpus_per_task cpus_per_gpu sockets_per_node cores_per_socket threads_per_core gpus
    gpus_per_socket gpus_per_task gres_per_node gpu_binding ntasks ntasks_per_node ntasks_per_socket
    ntasks_per_core ntasks_per_gpu switches signal standard_in standard_output standard_error
    kill_on_invalid_dependency spreads_over_nodes use_min_nodes gres_binding temporary_disk_per_node
    get_user_environment min_cpus_per_node wait_all_nodes
"""
_PUBLIC = frozenset(_NAMES.split())
_OPTIONS = {
    "name": "--job-name",
    "account": "--account",
    "array": "--array",
    "comment": "--comment",
    "constraints": "--constraint",
    "cpus_per_task": "--cpus-per-task",
    "dependencies": "--dependency",
    "excluded_nodes": "--exclude",
    "gres_per_node": "--gres",
    "licenses": "--licenses",
    "log_files_open_mode": "--open-mode",
    "mail_types": "--mail-type",
    "mail_user": "--mail-user",
    "network": "--network",
    "nodes": "--nodes",
    "ntasks": "--ntasks",
    "ntasks_per_node": "--ntasks-per-node",
    "partitions": "--partition",
    "qos": "--qos",
    "required_nodes": "--nodelist",
    "reservations": "--reservation",
    "standard_output": "--output",
    "time_limit": "--time",
    "wckey": "--wckey",
    "working_directory": "--chdir",
}


class PyslurmError(Exception):
    """The base of its errors."""


class RPCError(PyslurmError):
    """What the controller said."""

    def __init__(self, errno=-1, msg=None):
        self.errno, self.msg = errno, msg
        super().__init__(msg)


def u64(value):
    """As pyslurm.utils.uint has it: zero is not set."""
    return NO_VAL64 if value is None or value == 0 else int(value)


def dehumanize(text):
    """Of "512M" and the like the megabytes, as pyslurm.utils.helpers has it."""
    if not text:
        return None
    parts = re.split("([KMGT])", str(text))
    if len(parts) == 1:
        return int(text)
    return round(float(parts[0]) * {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}[parts[1]])


class JobSubmitDescription:
    """A job to be."""

    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name not in _PUBLIC:
            raise AttributeError(f"'pyslurm.JobSubmitDescription' object has no attribute '{name}'")
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name in _PUBLIC:
            return
        raise AttributeError(name)

    def submit(self):
        """The id of the job."""
        Path(__file__).with_name("environ.json").write_text(json.dumps(dict(os.environ)))
        if not self.script:
            raise ValueError("You need to provide a batch script.")
        text = Path(self.script).read_text()
        if not text.startswith("#!"):
            raise ValueError("Not a valid Batch script. First line must start with '#!'")
        arguments = [str(word) for word in self.script_args or ()]
        if arguments and arguments[0] == self.script:
            del arguments[0]
        values = {name: getattr(self, name) for name in _OPTIONS}
        values["ntasks"] = self.ntasks or 1
        values["cpus_per_task"] = self.cpus_per_task or 1
        options = [f"{_OPTIONS[name]}={value}" for name, value in values.items() if value]
        options += self._memory() + self._flags()
        for word in (*options, *arguments):
            word.encode()  # an error for what is no UTF-8
        script = Path(__file__).with_name("sent.sh")
        script.write_text(re.sub(r"(?m)^#SBATCH.*\n", "", text))
        done = subprocess.run(
            [_SBATCH, "--parsable", *options, str(script), *arguments],
            cwd="/",
            env=self._environment(),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RPCError(2000, done.stderr.strip().rpartition("failed: ")[2])
        return int(done.stdout.partition(";")[0])

    def _memory(self):
        if self.memory_per_cpu and self.memory_per_node:
            raise ValueError("Only one of memory_per_cpu, memory_per_node or memory_per_gpu can be set.")
        if self.memory_per_cpu:
            value = u64(dehumanize(self.memory_per_cpu))
            return [] if value == NO_VAL64 else [f"--mem-per-cpu={value & ~MEM_PER_CPU}"]
        if self.memory_per_node:
            value = u64(dehumanize(self.memory_per_node))
            return [] if value == NO_VAL64 else [f"--mem={value}"]
        return []

    def _flags(self):
        found = []
        if self.resource_sharing:
            if self.resource_sharing not in ("no", "exclusive"):
                raise ValueError(f"Invalid resource_sharing type: {self.resource_sharing}.")
            found.append("--exclusive")
        if self.is_requeueable is not None:
            found.append("--requeue" if self.is_requeueable else "--no-requeue")
        if self.kill_on_invalid_dependency:
            found.append("--kill-on-invalid-dep=yes")
        if self.priority is not None:
            found.append("--hold" if self.priority == 0 else f"--priority={self.priority}")
        return [*found, "--propagate=NONE"]

    def _environment(self):
        own = {name: value for name, value in os.environ.items() if name.startswith("SLURM_")}
        if not isinstance(self.environment, dict):
            return dict(os.environ)
        for name, value in self.environment.items():
            f"{name}={value}".encode()
        return {**own, **self.environment}
