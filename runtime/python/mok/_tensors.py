"""Tensors of any library, and whether they are what a step needs.

An object says where its memory is in one of these ways, tried in this order: data_ptr() with dtype, shape, stride() and device
(as PyTorch has them); __dlpack__; __cuda_array_interface__; __array_interface__ (NumPy, for the host target).
"""
from __future__ import annotations

import re
from typing import Any, NamedTuple, Sequence

from . import _dlpack
from ._errors import ArgumentError

BF16 = ("bfloat16", "uint16")  # uint16: the 16 bits of bf16 values, for libraries without the type
INT32, FLOAT32 = ("int32",), ("float32",)
_MEANT = {BF16: "bfloat16 (or uint16 with its bits)", INT32: "int32", FLOAT32: "float32"}
_KINDS = {"i": "int", "u": "uint", "f": "float", "b": "bool", "c": "complex", "V": "void"}


class Tensor(NamedTuple):
    """Where a tensor's memory is. `owner` keeps it."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    dtype: str
    device: str  # "cuda", "cpu", ...
    index: int | None  # None: not known
    read_only: bool
    owner: Any


def kind_of(obj: Any) -> str:
    kind = type(obj)
    return kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__name__}"


def without_gaps(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def parse_device(device: Any) -> tuple[str, int | None]:
    """("cuda", 1) of "cuda:1", 1 or torch.device("cuda", 1)."""
    if isinstance(device, int):
        return "cuda", device
    match = re.fullmatch(r"([a-z_]+)(?::(\d+))?", str(device))
    if not match:
        raise ArgumentError(f"device is {device!r}, must be an ordinal or like 'cuda:0'")
    return match.group(1), int(match.group(2)) if match.group(2) else None


_dtype_names: dict[Any, str] = {}


def _name_of(dtype: Any) -> str:
    """"bfloat16" of torch.bfloat16."""
    if dtype not in _dtype_names:
        _dtype_names[dtype] = str(dtype).rsplit(".", 1)[-1]
    return _dtype_names[dtype]


def _of_data_ptr(obj: Any) -> Tensor:
    device, shape = obj.device, tuple(obj.shape)
    kind, index = (device.type, device.index) if hasattr(device, "type") else parse_device(device)
    strides = tuple(obj.stride()) if hasattr(obj, "stride") else without_gaps(shape)
    return Tensor(obj.data_ptr(), shape, strides, _name_of(obj.dtype), kind, index, False, obj)


def _of_dlpack(obj: Any, stream: int | None) -> Tensor:
    t = _dlpack.read(obj, stream)
    strides = without_gaps(t.shape) if t.strides is None else t.strides
    return Tensor(t.pointer, t.shape, strides, t.dtype, t.device, t.index, t.read_only, t.capsule)


def _of_interface(name: str, obj: Any, interface: dict, device: str, stream: int | None) -> Tensor:
    shape = tuple(interface["shape"])
    text = interface["typestr"]
    order, kind, size = text[0], text[1], int(text[2:] or 1)
    dtype = f"{_KINDS[kind]}{8 * size}" if kind in _KINDS else f"of type '{text}'"
    if kind == "V" and str(getattr(obj, "dtype", "")) == "bfloat16":  # ml_dtypes
        dtype = "bfloat16"
    elif order == ">":
        dtype += " of the other byte order"
    strides = interface.get("strides")
    strides = without_gaps(shape) if strides is None else tuple(n // size for n in strides)
    pointer, read_only = interface["data"] or (0, False)
    if interface.get("mask") is not None:
        raise ArgumentError(f"{name} is a masked array, must be without a mask")
    # Its owner's work is on another stream, and the array itself has no way to make this one wait.
    theirs = interface.get("stream")
    if theirs is not None and theirs != (stream or 1):
        raise ArgumentError(f"{name} is in use on stream {theirs}, but the step is for stream {stream or 1}: synchronise, or "
                            "pass that stream")
    return Tensor(pointer, shape, strides, dtype, device, None if device == "cuda" else 0, read_only, obj)


def describe(name: str, obj: Any, stream: int | None = None) -> Tensor:
    """Where the tensor is that argument `name` gives. `stream`: on which it will be used, None: the default stream."""
    refused = None
    try:
        if hasattr(obj, "data_ptr"):
            return _of_data_ptr(obj)
        if hasattr(obj, "__dlpack__"):
            try:
                return _of_dlpack(obj, stream)
            except BufferError as error:
                refused = error
        for attribute, device in (("__cuda_array_interface__", "cuda"), ("__array_interface__", "cpu")):
            interface = getattr(obj, attribute, None)
            if interface is not None:
                return _of_interface(name, obj, interface, device, stream)
    except (RuntimeError, TypeError, AttributeError, KeyError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{name} is a {kind_of(obj)} that does not say where its memory is: {error}") from error
    if refused is not None:
        raise ArgumentError(f"{name} is a {kind_of(obj)} that cannot be exported: {refused}") from refused
    raise ArgumentError(f"{name} is a {kind_of(obj)}, must be a tensor: with data_ptr(), dtype, shape and device, or __dlpack__, "
                        "or __cuda_array_interface__")


def _listed(numbers: Sequence[Any]) -> str:
    return "[" + ", ".join(str(n) for n in numbers) + "]"


class Shape(NamedTuple):
    letters: tuple[str, ...]
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return f"{_listed(self.letters)} = {_listed(self.sizes)}"


def require(name: str, tensor: Tensor, dtypes: tuple[str, ...], shape: Shape, device: tuple[str, int]) -> None:
    """Dtype, shape and device."""
    if tensor.dtype not in dtypes:
        raise ArgumentError(f"{name} is {tensor.dtype}, must be {_MEANT[dtypes]}")
    if tensor.shape != shape.sizes:
        raise ArgumentError(f"{name} has shape {_listed(tensor.shape)}, must be {shape}")
    if tensor.device != device[0] or tensor.index not in (None, device[1]):
        place = lambda kind, index: f"cuda:{index}" if kind == "cuda" else kind
        raise ArgumentError(f"{name} is on {place(tensor.device, tensor.index)}, must be on {place(*device)}, where the kernel "
                            "was loaded")


def require_aligned(name: str, tensor: Tensor, alignment: int) -> None:
    if tensor.pointer % alignment:
        raise ArgumentError(f"{name} begins at address {tensor.pointer:#x}, must begin at a multiple of {alignment} bytes")


def require_contiguous(name: str, tensor: Tensor) -> None:
    right = without_gaps(tensor.shape)
    if tensor.strides == right:
        return
    if 0 not in tensor.shape and any(n > 1 and a != b for n, a, b in zip(tensor.shape, tensor.strides, right)):
        raise ArgumentError(f"{name} has strides {_listed(tensor.strides)} for shape {_listed(tensor.shape)}, must be "
                            f"contiguous: {_listed(right)}")


def weight_strides(name: str, tensor: Tensor) -> tuple[int, int]:
    """(expert, row) strides in elements of [experts, rows, columns]; a matrix [rows, columns] has one expert."""
    shape, strides = tensor.shape, tensor.strides
    if len(shape) == 2:
        shape, strides = (1,) + shape, (shape[0] * strides[0],) + strides
    experts, rows, columns = shape
    expert, row, column = strides
    if columns > 1 and column != 1:
        raise ArgumentError(f"{name} has strides {_listed(tensor.strides)} for shape {_listed(tensor.shape)}, must have its last "
                            "dimension contiguous (stride 1)")
    row = row if rows > 1 else columns
    expert = expert if experts > 1 else rows * row
    for what, stride, least in (("rows", row, columns), ("experts", expert, 8)):
        if stride < least or stride % 8:
            raise ArgumentError(f"{name} has {what} {stride} elements apart (strides {_listed(tensor.strides)}), must be a "
                                f"multiple of 8, {least} or more")
    return expert, row
