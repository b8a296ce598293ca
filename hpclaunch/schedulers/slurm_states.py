"""Slurm's states and reasons, as data.

States: the base states and flags of `job_state_string` in Slurm's src/common/slurm_protocol_defs.c, tags
20.11 to 26.05; a flag is printed instead of the base state. Reasons: `job_reason_string` of the same file,
since 24.05 src/common/job_state_reason.c; read at the first and last tags of 20.11 to 26.05.
"""

from types import MappingProxyType

from hpclaunch.values.job import State

_PENDING: State = "PENDING"
_RUNNING: State = "RUNNING"

# Slurm's word, its short form -> the state, and what the word adds for people
STATES = MappingProxyType(
    {
        ("PENDING", "PD"): (_PENDING, ""),
        ("CONFIGURING", "CF"): (_PENDING, "its nodes are being prepared"),
        ("EXPEDITING", "EX"): (_PENDING, "it runs again, ahead of the others"),
        ("REQUEUED", "RQ"): (_PENDING, "it goes back to the queue"),
        ("REQUEUE_FED", "RF"): (_PENDING, "it goes back to the queue of the federation"),
        ("REQUEUE_HOLD", "RH"): (_PENDING, "it went back to the queue and is held: scontrol release"),
        ("RESV_DEL_HOLD", "RD"): (_PENDING, "its reservation was deleted and it is held"),
        ("SPECIAL_EXIT", "SE"): (_PENDING, "it went back to the queue and is held: scontrol release"),
        ("RUNNING", "R"): (_RUNNING, ""),
        ("COMPLETING", "CG"): (_RUNNING, "it is ending"),
        ("RESIZING", "RS"): (_RUNNING, "it changes its size"),
        ("SIGNALING", "SI"): (_RUNNING, "a signal is on its way to it"),
        ("STAGE_OUT", "SO"): (_RUNNING, "its files are being staged out"),
        ("STOPPED", "ST"): (_RUNNING, "it was stopped and holds its CPUs"),
        ("SUSPENDED", "S"): (_RUNNING, "it is suspended"),
        ("COMPLETED", "CD"): ("COMPLETED", ""),
        ("FAILED", "F"): ("FAILED", ""),
        ("CANCELLED", "CA"): ("CANCELLED", ""),
        ("REVOKED", "RV"): ("CANCELLED", "another cluster of the federation runs it"),
        ("TIMEOUT", "TO"): ("TIMEOUT", "it reached its time limit"),
        ("DEADLINE", "DL"): ("TIMEOUT", "it reached its deadline"),
        ("NODE_FAIL", "NF"): ("NODE_FAIL", "a node of it failed"),
        ("BOOT_FAIL", "BF"): ("NODE_FAIL", "a node of it did not boot"),
        ("PREEMPTED", "PR"): ("PREEMPTED", "a job of higher priority took its nodes"),
        ("OUT_OF_MEMORY", "OOM"): ("OUT_OF_MEMORY", "it used more memory than it had"),
    }
)

BY_WORD = MappingProxyType({word: meaning for words, meaning in STATES.items() for word in words})

# What a cancelled job has beside these is why it was waiting, and no longer true.
CANCELLING = frozenset({"DependencyNeverSatisfied"})

# Why a job waits, which Slurm may go on to say of one that has ended: the WAIT_* of its reasons, but for
# DependencyNeverSatisfied above and PartitionDown, which are also why a job ends.
_WAITING = frozenset(
    {
        *("Resources", "Priority", "Dependency", "BeginTime", "JobArrayTaskLimit", "Licenses", "Prolog"),
        *("Reservation", "ReservationDeleted", "ReservationInvalid", "ReqNodeNotAvail", "Cleaning"),
        *("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "FedJobLock", "FrontEndDown", "MpiPortsBusy"),
        *("PartitionNodeLimit", "PartitionTimeLimit", "PartitionInactive", "PartitionConfig"),
        *("AccountNotAllowed", "AccountingPolicy", "BurstBufferResources", "BurstBufferStageIn"),
        *("BlockFreeAction", "BlockMaxError", "PowerNotAvail", "PowerReserved", "NvidiaImexChannels"),
    }
)
# Limits of accounts and QOS are some 170, and no FAIL_* begins so: AssocGrpCpuLimit, QOSMaxGRESPerUser.
_LIMITS = ("Assoc", "QOS", "Max")


def is_waiting(reason: str) -> bool:
    """Whether it says why a job waits. Slurm may go on after the name: "ReqNodeNotAvail, UnavailableNodes:n1"
    (node_scheduler.c of its src/slurmctld)."""
    name = reason.partition(",")[0]
    return name in _WAITING or name.startswith(_LIMITS)


REASONS = MappingProxyType(
    {
        "Resources": "it waits for free nodes",
        "Priority": "jobs of higher priority come first",
        "Dependency": "it waits for another job",
        "DependencyNeverSatisfied": "the job that it waits for ended otherwise: it will never start",
        "JobHeldUser": "it is held by its user: scontrol release",
        "JobHeldAdmin": "it is held by an administrator",
        "BeginTime": "it waits for its begin time",
        "JobArrayTaskLimit": "it waits for other tasks of its job array",
        "PartitionDown": "its partition is down",
        "PartitionInactive": "its partition is inactive",
        "PartitionNodeLimit": "it asks for more nodes than the partition gives to a job",
        "PartitionTimeLimit": "it asks for more time than the partition gives to a job",
        "ReqNodeNotAvail": "a node that it asks for is down, drained or reserved",
        "Reservation": "it waits for its reservation",
        "Licenses": "it waits for a licence",
        "NodeDown": "a node that it needs is down",
        "BadConstraints": "no node has what it asks for",
        "InvalidAccount": "its account is not valid",
        "InvalidQOS": "its QOS is not valid",
        "JobLaunchFailure": "its script could not be started, or was killed",
        "NonZeroExitCode": "its script ended with an error",
        "SystemFailure": "Slurm, the filesystem or the network failed",
        "TimeLimit": "it reached its time limit",
        "RaisedSignal": "its script was ended by a signal",
        "Prolog": "the site's prolog is running",
        "launch_failed_requeued_held": "a node could not start it; it is held: scontrol release",
    }
)
