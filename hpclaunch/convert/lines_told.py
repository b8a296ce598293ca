"""What is said of a line of the input that no finding names, by what became of it."""

from msgspec import Struct

from hpclaunch.convert import other_starts
from hpclaunch.convert.mapping.around import surroundings
from hpclaunch.convert.mapping.environment.sourced import OF_FILE
from hpclaunch.values.conversion import Kind


class Told(Struct, frozen=True):
    """What became of a statement. `before` stands before its text."""

    kind: Kind
    before: str
    why: str
    todo: str = ""


USED = Told("carried", "variables: ", "the commands that use them have their values")
UNUSED = Told("without effect", "", "nothing that is launched uses it")
BY_RANKS = Told("carried", "variables: ", OF_FILE)
FOR_OUTPUT = Told(
    "left",
    "",
    "it starts a program and keeps what that prints, and no part of the job is made of it",
    "where it is a run make a job file of that program",
)
PERHAPS = Told(
    "unread",
    "",
    "only a line that is not understood may use it",
    "see whether what that line starts needs it",
)
PLUMBING = Told("without effect", "shell plumbing: ", "it has no effect on what is launched")
LEAVES = Told("without effect", "", "it leaves an environment, and nothing of the job is in one then")
ENDS = Told(
    "carried",
    "conditions: ",
    "it ends the script or a round there, and the job is made for where its condition does not hold",
)
STATE = Told("carried", "shell plumbing: ", "the commands behind it have their words as it leaves them")
CONDITION = Told("carried", "conditions: ", "what depends on them is told where it stands")
ROUNDS = Told("carried", "a loop: ", "what its rounds do is told where it stands")
CALL = Told("carried", "a call: ", "what the function does is told where its commands stand")
FOLLOWED = Told("carried", "", "what that script does is told where its commands stand")
WRITES = Told("carried", "", "it writes a line of the script that is submitted, which is the job's")
WRITES_UNREAD = Told(
    "unread",
    "",
    "it writes a line of the script that is submitted, and what that is in the end is not read here",
    "convert the script that it makes",
)
WRITES_ANOTHER = Told(
    "left", "", "it writes a line of the script of another job, and this one is not made of it"
)
LEFT = Told(
    "left",
    "",
    "it is not part of what is launched, as far as this command knows",
    "if the job needs it, add it to setup, before_each or after",
)
SET_UP = Told(
    "left",
    "",
    "the command, which is asked for, has to do it",
    "write it in front of the command: bash -lc '...; COMMAND'",
)
ALIAS = Told(
    "left",
    "",
    "the command, which is asked for, may begin with it",
    "write in `command` what it stands for",
)
STARTS_RANKS = Told(
    "left",
    "",
    "it starts ranks of its own, and this job is not made of it",
    "where it is the run leave out what is, or give what decides between them with --env, and convert again",
)
STARTS_THERE = Told(
    "left",
    "",
    "it starts processes on another machine, and the job starts the ranks of all its nodes itself",
    "where they are none of this run make a job file of them too",
)
MADE_TODO = "look at this line yourself: give what it sets by --env, and add what it starts to the job"
MADE = Told("unread", "", "what it makes of its words is known only where it runs", MADE_TODO)
EXPORTS = Told("left", "", "which variables it hands on to the ranks is known only where it runs", MADE_TODO)
IS_SOURCED = Told("without effect", "", "its text is among the files, and read where it is sourced")
UMASK = Told("left", "", *surroundings.UMASK)
FOLDER = Told("carried", "", "it is the folder in which the commands behind it stand")
FOLLOWING = "it submits another job, and a job's own shell submits none"
AGAIN = Told(
    "left",
    "",
    FOLLOWING,
    "where the script submits itself write `chain` in the job file: so many links, each after the other",
)
ANOTHER = Told(
    "left",
    "",
    FOLLOWING,
    "make a job file of that script too, write depends_on: [THIS JOB'S FILE] in it (it waits until this one "
    "has ended well; when: afterany, in any way), and `hpclaunch submit` both",
)
BESIDE = Told(
    "left",
    "",
    FOLLOWING,
    "make a job file of that script too; where one waits for the other write depends_on: [THE OTHER'S FILE] "
    "in the one that waits",
)
REQUEUE = Told(
    "left",
    "",
    "it puts the job itself back, and in a step of a job file it would do so at each start",
    "write `chain` in the job file: so many links, each after one that its time limit ended",
)
TRAPPED = Told(
    "left",
    "",
    "it runs where the script ends or is told a signal, and no step of a job is made of it",
    "if the job needs it, add it to after, which runs at each end",
)
HANDED = Told("left", "", "it hands the variable on to the ranks: see what is said of its value")
NOT_REACHED = Told(
    "without effect", "", "the script does not come to it with the values that its variables have"
)
OF_ANOTHER = Told(
    "left",
    "",
    "it is of the script of another job, which is submitted beside this one",
    "convert that script by itself, and give the jobs `depends_on` where one waits for the other",
)
# "No command given to execute" (libsrun/opt.c of Slurm's sources).
NO_COMMAND = Told(
    "left",
    "",
    "it has no command behind its options, and starts nothing",
    "write what it is to start, and convert again",
)
MAY_START = Told(
    "unread",
    "",
    "it may start ranks, and is no way of starting them that is known",
    "where it is the run write the command without what stands before it, and convert again",
)
MAY_START_FILE = Told("unread", "", other_starts.WHY, other_starts.ADVICE)
HOSTS = Told("replaced", "", "the scheduler knows the hosts of a job")
IN_COMMAND = Told("carried", "", "the text of the function is in the command that calls it")
FILE = Told(
    "left",
    "",
    "it writes a file, and the job does not",
    "where ranks read that file, keep it beside the job file or write it in setup",
)
