"""Reads DLPack capsules, as dlpack.h 0.x and 1.x lay them out."""
from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
DEVICES = {CPU: "cpu", CUDA: "cuda", CUDA_HOST: "cpu", CUDA_MANAGED: "cuda"}
KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
READ_ONLY = 1


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager_ctx", c_void_p), ("deleter", c_void_p), ("flags", c_uint64),
                ("dl_tensor", DLTensor)]


class Contents(NamedTuple):
    """What a capsule says. `capsule` keeps the memory: its destructor gives it back, as nobody takes it over."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # elements; None: no gaps
    dtype: str
    device: str
    index: int
    read_only: bool
    capsule: Any


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def read(obj: Any, stream: int | None) -> Contents:
    """Asks the object for a capsule. On CUDA the exporter makes `stream` wait for what it has still to do."""
    device, _ = obj.__dlpack_device__()
    arguments = {"stream": stream or 1} if device in (CUDA, CUDA_MANAGED) else {}  # 1: the legacy default stream
    try:
        capsule = obj.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:  # an exporter that is older than versions
        capsule = obj.__dlpack__(**arguments)
    flags = 0
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = DLManagedTensorVersioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise BufferError(f"DLPack {managed.major}.{managed.minor} is not known")
        flags = managed.flags
    elif _is_valid(capsule, b"dltensor"):
        managed = DLManagedTensor.from_address(_pointer(capsule, b"dltensor"))
    else:
        raise BufferError("__dlpack__() returned no unused DLPack capsule")
    t = managed.dl_tensor
    shape = tuple(t.shape[i] for i in range(t.ndim))
    strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else None
    kind = KINDS.get(t.code, f"type{t.code}_")
    lanes = f"x{t.lanes}" if t.lanes != 1 else ""
    return Contents((t.data or 0) + t.byte_offset, shape, strides, f"{kind}{t.bits}{lanes}",
                    DEVICES.get(t.device_type, f"DLPack device {t.device_type}"), t.device_id, bool(flags & READ_ONLY), capsule)
