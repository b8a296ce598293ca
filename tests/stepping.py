"""A function in a process of its own that is stopped before its system calls, one by one: to kill it there,
or to let the call fail; with its threads, or its first one alone. Linux on x86_64 alone, by ptrace(2); its
registers are `struct user_regs_struct`."""

import ctypes
import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

_TRACEME, _GETREGS, _SETREGS, _SYSCALL, _SETOPTIONS = 0, 12, 13, 24, 0x4200
_SYSGOOD, _CLONE, _EXITKILL = 1, 8, 0x100000
_ALL = 0x40000000  # __WALL of waitpid(2): threads too
_TRAP = signal.SIGTRAP | 0x80
_RAX, _RDX, _RSI, _RDI, _ORIG_RAX = 10, 12, 13, 14, 15
_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long
_Registers = ctypes.c_ulonglong * 27

# asm/unistd_64.h: what reaches the disk, by the argument that names the file: a path, or a descriptor.
BY_PATH = {
    2: ("open", _RDI),
    257: ("openat", _RSI),
    83: ("mkdir", _RDI),
    258: ("mkdirat", _RSI),
    82: ("rename", _RDI),
    264: ("renameat", _RSI),
    86: ("link", _RDI),
    265: ("linkat", _RSI),
    87: ("unlink", _RDI),
    263: ("unlinkat", _RSI),
    84: ("rmdir", _RDI),
    88: ("symlink", _RSI),
}
OPEN_TO_READ = "open to read"  # or to write to what is there: neither changes a folder
_FLAGS = {2: _RSI, 257: _RDX}  # of open and openat
BY_DESCRIPTOR = {
    1: ("write", _RDI),
    3: ("close", _RDI),
    74: ("fsync", _RDI),
    75: ("fdatasync", _RDI),
    73: ("flock", _RDI),
    217: ("getdents64", _RDI),
    0: ("read", _RDI),
}


@dataclass(frozen=True)
class Call:
    """A system call: its number, and where it is known to reach a file, its name and the file."""

    number: int
    name: str = ""
    path: str = ""


def every(call: Call) -> bool:
    """All calls count."""
    return True


@dataclass
class Steps:
    """What became of the process: its exit status (None: killed here), and its calls from the beginning of
    the window on."""

    status: int | None = None
    calls: list[Call] = field(default_factory=list)


def run(
    work: Callable[[], int],
    begins: Callable[[Call], bool],
    kill_at: int | None = None,
    fail_at: int | None = None,
    error: int = errno.EIO,
    threads: bool = False,
    counts: Callable[[Call], bool] = every,
) -> Steps:
    """Runs `work` in a child; its window begins with the first call for which `begins` is true. Call number
    `kill_at` of the window (from 0) is where it dies by SIGKILL, before the call is carried out; number
    `fail_at` is not carried out, and fails with `error`. `threads`: the calls of all threads count, else
    those of the first one; and of these those for which `counts` is true."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            _ptrace(_TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    try:
        return _trace(child, begins, kill_at, fail_at, error, threads, counts)
    except BaseException:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise


def _trace(
    child: int,
    begins: Callable[[Call], bool],
    kill_at: int | None,
    fail_at: int | None,
    error: int,
    threads: bool,
    counts: Callable[[Call], bool],
) -> Steps:
    os.waitpid(child, 0)
    _ask(_SETOPTIONS, child, _SYSGOOD | _EXITKILL | (_CLONE if threads else 0))
    steps, inside, failing = Steps(), False, 0
    entering = {child: True}  # of each thread, whether its next stop is before a call
    _go_on(child, 0)
    while True:
        thread, status = os.waitpid(-1 if threads else child, _ALL)
        if not os.WIFSTOPPED(status):
            if thread == child:
                steps.status = os.waitstatus_to_exitcode(status)
                return steps
            continue
        if thread not in entering:  # a new one is stopped at first
            entering[thread] = True
            _go_on(thread, 0)
            continue
        if os.WSTOPSIG(status) != _TRAP:
            event = status >> 16
            _go_on(thread, 0 if event else os.WSTOPSIG(status))
            continue
        if entering[thread]:
            call = _call(thread)
            inside = inside or begins(call)
            if inside and counts(call):
                if len(steps.calls) == kill_at:
                    os.kill(child, signal.SIGKILL)
                    while os.waitpid(-1 if threads else child, _ALL)[0] != child:
                        pass
                    return steps
                if len(steps.calls) == fail_at:
                    failing = thread
                    if call.name != "close":  # which closes all the same
                        _set(thread, _ORIG_RAX, -1)
                steps.calls.append(call)
        elif failing == thread:
            _set(thread, _RAX, -error)
            failing = 0
        entering[thread] = not entering[thread]
        _go_on(thread, 0)


def _go_on(thread: int, number: int) -> None:
    """Up to its next call, with a signal. One that has died meanwhile does not."""
    if _ptrace(_SYSCALL, thread, None, number) < 0 and ctypes.get_errno() != errno.ESRCH:
        raise OSError(ctypes.get_errno(), "ptrace")


def _call(child: int) -> Call:
    registers = _registers(child)
    number = registers[_ORIG_RAX]
    if number in BY_PATH:
        name, where = BY_PATH[number]
        if number in _FLAGS and not registers[_FLAGS[number]] & (os.O_CREAT | os.O_TRUNC):
            name = OPEN_TO_READ
        return Call(number, name, _text(child, registers[where]))
    if number in BY_DESCRIPTOR:
        name, where = BY_DESCRIPTOR[number]
        try:
            return Call(number, name, os.readlink(f"/proc/{child}/fd/{registers[where]}"))
        except OSError:
            return Call(number, name)
    return Call(number)


def _text(child: int, address: int) -> str:
    with open(f"/proc/{child}/mem", "rb", buffering=0) as memory:
        found = b""
        while b"\0" not in found and len(found) < 4096:
            memory.seek(address + len(found))
            # up to the end of the page: the next one may not be there
            found += memory.read(4096 - (address + len(found)) % 4096)
    return os.fsdecode(found.partition(b"\0")[0])


def _registers(child: int) -> "ctypes.Array[ctypes.c_ulonglong]":
    registers = _Registers()
    _ask(_GETREGS, child, ctypes.addressof(registers))
    return registers


def _set(child: int, register: int, value: int) -> None:
    registers = _registers(child)
    registers[register] = value & (2**64 - 1)
    _ask(_SETREGS, child, ctypes.addressof(registers))


def _ask(request: int, child: int, data: int) -> None:
    if _ptrace(request, child, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
