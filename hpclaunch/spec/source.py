"""The text of a file that a person wrote, read once and checked: a regular file, small, and UTF-8."""

import errno
import os
import stat

from hpclaunch.values.errors import InputError, Problem

LIMIT = 1024 * 1024  # a job, site or node type is a few kilobytes; what is larger is another kind of file
_BOM = b"\xef\xbb\xbf"
_WIDE = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def read_text(file: str, kind: str, most: int = LIMIT) -> str:
    """The text of `file`, without a byte order mark. `kind` ("job", "site", ...) names what was expected,
    `most` is how many bytes it may have.

    Raises InputError for a file that is missing, not readable, not a regular file, larger than that, or not
    UTF-8.
    """
    return decode(_read(file, kind, most), file, kind)


def read_words(file: str, kind: str, most: int = LIMIT) -> str:
    """As `read_text`, of a file that may have NUL between its words."""
    data = _read(file, kind, most)
    decode(data.replace(b"\0", b"\n"), file, kind)
    return data.decode("utf-8")


def decode(data: bytes, file: str, kind: str) -> str:
    """`data` as text. Raises InputError where it is not UTF-8, with the line and column of the first wrong
    byte, and for NUL characters, which neither arguments nor variables can carry."""
    for bom, name in _WIDE.items():
        if data.startswith(bom):
            raise InputError(f"{file}: the file is in {name}; save it as UTF-8")
    body = data[len(_BOM) :] if data.startswith(_BOM) else data
    zero = body.find(b"\0")
    if zero >= 0:
        where = f"{file}:{position(body[:zero].decode('utf-8', 'replace'))}"
        raise _problem("a NUL byte: the file is not UTF-8 text", kind, where)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{file}:{position(body[: error.start].decode('utf-8'))}"
        message = (
            f"byte 0x{body[error.start]:02x} at offset {error.start} is not UTF-8; save the file as UTF-8"
        )
        raise _problem(message, kind, where) from None


def position(before: str) -> str:
    """line:col of the character that follows `before`, from 1."""
    lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return f"{len(lines)}:{len(lines[-1]) + 1}"


def _problem(message: str, kind: str, where: str) -> InputError:
    return InputError([Problem(message, kind, (), where)])


def _read(file: str, kind: str, most: int) -> bytes:
    try:
        # Opening a FIFO would wait for a writer, and opening a device can act on it: look first.
        _refuse_unusual(os.stat(file), file, kind, most)
        with open(file, "rb", opener=_open) as stream:
            _refuse_unusual(os.fstat(stream.fileno()), file, kind, most)
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{file}: {_reason(error, kind)}") from None
    if len(data) > most:
        raise InputError(_too_large(file, len(data), kind, most))
    return data


def _open(file: str, flags: int) -> int:
    return os.open(file, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _refuse_unusual(status: os.stat_result, file: str, kind: str, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{file}: this is a directory; give the {kind} file in it")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{file}: not a regular file; write the {kind} to a file first")
    if status.st_size > most:
        raise InputError(_too_large(file, status.st_size, kind, most))


def _too_large(file: str, size: int, kind: str, most: int) -> str:
    return f"{file}: {size:,} bytes is too large for a {kind} file; at most {most:,} are read"


def _reason(error: OSError | ValueError, kind: str) -> str:
    if isinstance(error, ValueError):
        return "not the name of a file"
    if error.errno == errno.ENOENT:
        return f"no such {kind} file"
    return (error.strerror or str(error)).lower()
