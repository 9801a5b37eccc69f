"""The structs of mok.h, by its names and in its order. tests/python/test_header.py compares them with the header."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p

VERSION = (0, 1)  # of the interface

LOG_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Struct(ctypes.Structure):
    """Sets its struct_size, where it has one."""

    def __init__(self, *values, **fields):
        super().__init__(*values, **fields)
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(self)


class mok_load_args(Struct):
    _fields_ = [("struct_size", c_size_t), ("path", c_char_p), ("memory", c_void_p), ("memory_size", c_size_t), ("device", c_int),
                ("log", LOG_FUNCTION), ("log_user", c_void_p)]


class mok_kernel_info(Struct):
    _fields_ = [("struct_size", c_size_t), ("ranks", c_int), ("tokens_per_rank", c_int), ("hidden", c_int),
                ("intermediate", c_int), ("shared_intermediate", c_int), ("experts", c_int), ("top_k", c_int), ("gated", c_int),
                ("comm_ctas", c_int), ("compute_ctas", c_int), ("symmetric_bytes", c_int64), ("local_bytes", c_int64),
                ("cluster", c_int)]


class mok_group(Struct):
    _fields_ = [("struct_size", c_size_t), ("kernels", POINTER(c_void_p)), ("kernel_count", c_int)]


class mok_weights(Struct):
    _fields_ = [("base", c_void_p), ("expert_stride", c_int64), ("row_stride", c_int64)]


class mok_forward_args(Struct):
    _fields_ = [("struct_size", c_size_t), ("x", c_void_p), ("topk_ids", c_void_p), ("topk_weights", c_void_p), ("out", c_void_p),
                ("gate", mok_weights), ("up", mok_weights), ("down", mok_weights), ("shared_gate", mok_weights),
                ("shared_up", mok_weights), ("shared_down", mok_weights), ("tokens", c_int32), ("tokens_dev", c_void_p)]


class mok_launch_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("comm_ctas", c_int), ("compute_ctas", c_int), ("local_timeout_ms", c_uint32),
                ("peer_timeout_ms", c_uint32)]


class mok_input_errors(Struct):
    _fields_ = [("struct_size", c_size_t), ("bad_ids", c_int64), ("rank", c_int), ("token", c_int), ("slot", c_int),
                ("id", c_int), ("bad_counts", c_int64), ("count", c_int)]


# name: (result, arguments). A mok_status, mok_kernel * or mok_workspace * is a void *.
FUNCTIONS = {
    "mok_version": (c_char_p, []),
    "mok_status_exit_code": (c_int, [c_void_p]),
    "mok_status_text": (c_char_p, [c_void_p]),
    "mok_status_free": (None, [c_void_p]),
    "mok_kernel_load": (c_void_p, [POINTER(mok_load_args), POINTER(c_void_p)]),
    "mok_kernel_unload": (None, [c_void_p]),
    "mok_kernel_query": (c_void_p, [c_void_p, POINTER(mok_kernel_info)]),
    "mok_workspace_size": (c_void_p, [c_void_p, POINTER(c_int64), POINTER(c_int64)]),
    "mok_workspace_create": (c_void_p, [POINTER(mok_group), POINTER(c_void_p)]),
    "mok_workspace_destroy": (None, [c_void_p]),
    "mok_forward": (c_void_p, [c_void_p, POINTER(mok_forward_args), POINTER(mok_launch_options), c_void_p]),
    "mok_check": (c_void_p, [c_void_p, POINTER(mok_input_errors)]),
}
