"""Finds libmok and calls it."""
from __future__ import annotations

import ctypes
import os
import threading

from ._errors import Error, FileError, error_of
from ._structs import FUNCTIONS, VERSION

SONAME = "libmok.so.%d.%d" % VERSION


class Library:
    """libmok.so with its functions declared. `call(name, ...)` raises what a mok_status says."""

    def __init__(self, path: str):
        self.path = path
        try:
            self.c = ctypes.CDLL(path)
        except OSError as error:
            raise FileError(f"cannot open {path}: {error}") from None
        for name, (result, arguments) in FUNCTIONS.items():
            try:
                function = getattr(self.c, name)
            except AttributeError:
                raise FileError(f"{path} has no function {name}: this package `mok` is for {SONAME}") from None
            function.restype, function.argtypes = result, arguments
        if tuple(self.version().split(".")[:2]) != tuple(str(n) for n in VERSION):
            raise FileError(f"{path} is libmok {self.version()}, but this package `mok` is for {VERSION[0]}.{VERSION[1]}")

    def version(self) -> str:
        return self.c.mok_version().decode()

    def call(self, name: str, *arguments) -> None:
        status = getattr(self.c, name)(*arguments)
        if status:
            raise self.error(status)

    def error(self, status: int) -> Error:
        """The exception for a status, which it frees."""
        code, text = self.c.mok_status_exit_code(status), self.c.mok_status_text(status)
        error = error_of(code, text.decode("utf-8", "replace"))
        self.c.mok_status_free(status)
        return error


_opened: dict[str, Library] = {}
_lock = threading.Lock()


def open_library(path: str | os.PathLike | None = None) -> Library:
    """libmok at `path`; else at $MOK_LIBRARY; else beside this file; else where the loader finds it. Opened once for a path."""
    if path is None:
        path = os.environ.get("MOK_LIBRARY")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), SONAME)
    places = [os.fspath(path)] if path else [beside, SONAME] if os.path.exists(beside) else [SONAME]
    with _lock:
        if places[0] not in _opened:
            try:
                _opened[places[0]] = Library(places[0])
            except FileError as error:
                if path:
                    raise
                raise FileError(f"libmok is not found: {error}; no {beside}; name it with MOK_LIBRARY=.../{SONAME} or library=")
        return _opened[places[0]]
