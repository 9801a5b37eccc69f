"""What goes wrong, as exceptions. The text of an error that libmok returned is libmok's."""
from __future__ import annotations


class Error(RuntimeError):
    """`code` is the exit code that `mokgen` has for such an error, mok_status_exit_code() of libmok."""

    code = 1


class ArgumentError(Error, ValueError):
    """An argument is wrong: the text names it, what it is, and what would be right."""

    code = 2


class NotInThisVersionError(Error):
    """A right wish that this version cannot fulfil."""

    code = 3


class DeviceError(Error):
    """No driver, a device that does not fit the package, or a CUDA call that failed."""

    code = 5


class AbortedError(Error):
    """A launch gave up waiting: the text says who waited for what. Its workspace is lost."""

    code = 7


class FileError(Error):
    """A package or library that cannot be read or is not what it says; or out of memory."""

    code = 8


def error_of(code: int, text: str) -> Error:
    """The exception for a status of libmok, or for the exit code that mokgen would end with."""
    for kind in (ArgumentError, DeviceError, AbortedError, FileError):
        if kind.code == code:
            return kind(text)
    error = Error(text)
    error.code = code
    return error
