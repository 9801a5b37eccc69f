"""mok: runs packages that mokgen wrote, through libmok. Needs the standard library only.

    with mok.load("layer.mok", device=0) as kernel, kernel.workspace() as workspace:
        out = workspace.forward(x, topk_ids, topk_weights, mok.Weights(gate, up, down))

mok.torch has the layer as an operator of PyTorch, mok.host runs packages of the host target on the CPU.
"""
from ._errors import AbortedError, ArgumentError, DeviceError, Error, FileError, NotInThisVersionError
from ._kernel import InputErrors, Kernel, LaunchOptions, Workspace, load, workspaces
from ._library import open_library
from ._step import KernelInfo, Weights

__all__ = ["AbortedError", "ArgumentError", "DeviceError", "Error", "FileError", "InputErrors", "Kernel", "KernelInfo",
           "LaunchOptions", "NotInThisVersionError", "Weights", "Workspace", "load", "version", "workspaces"]


def version() -> str:
    """Of libmok."""
    return open_library().version()
