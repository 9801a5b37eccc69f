"""mok.host with NumPy: the bits of `mokgen run`, and what it refuses."""
import os
import shutil
import unittest

import support

support.skip_without("numpy")

import numpy as np

import mok
import mok.host

ONE, TWO = support.Case("one", gpu=False), support.Case("two", ranks=2, shared=0, gpu=False)


def arrays(case, rank):
    """A rank's arguments by name, and its output."""
    load = lambda name: np.load(os.path.join(case.dump, name + ".npy"))
    experts = slice(rank * support.EXPERTS // case.ranks, (rank + 1) * support.EXPERTS // case.ranks)
    weights = {name: load(name) for name in support.MATRICES if os.path.exists(os.path.join(case.dump, name + ".npy"))}
    weights = {name: w if name.startswith("shared") else w[experts] for name, w in weights.items()}
    given = {name: load(f"{name}_{rank}") for name in ("x", "topk_ids", "topk_weights")}
    return {**given, "weights": weights}, load(f"out_{rank}")


class Host(unittest.TestCase):
    def setUp(self):
        self.kernel = mok.host.load(ONE.host, native_code=True)
        self.given, self.right = arrays(ONE, 0)

    def test_same_bits(self):
        self.assertGreater(len(self.right), 0)
        with self.kernel.workspace() as workspace:
            for seed in (0, 1, 2):
                out = workspace.forward(**self.given, seed=seed, races=seed == 1)
                self.assertEqual((out.shape, out.dtype), (self.right.shape, np.uint16))
                np.testing.assert_array_equal(out, self.right)
            mine = np.zeros_like(self.right)
            self.assertIs(workspace.forward(**self.given, out=mine), mine)
            np.testing.assert_array_equal(mine, self.right)
            workspace.check()

    def test_fewer_tokens_and_views(self):
        workspace = self.kernel.workspace()
        for tokens in (0, 1, 7):
            part = {name: array[:tokens] for name, array in self.given.items() if name != "weights"}
            np.testing.assert_array_equal(workspace.forward(**part, weights=self.given["weights"]), self.right[:tokens])
        gate, up = (self.given["weights"][name] for name in ("gate", "up"))
        both = np.concatenate([gate, up], axis=1)  # [E, 2 I, H]
        halves = {**self.given["weights"], "gate": both[:, :gate.shape[1]], "up": both[:, gate.shape[1]:]}
        halves["shared_up"] = halves["shared_up"][0]  # [S, H]
        np.testing.assert_array_equal(workspace.forward(**{**self.given, "weights": halves}), self.right)
        count = np.array([3], dtype=np.int32)
        out = np.full_like(self.right, 17)
        workspace.forward(**self.given, out=out, tokens_dev=count)
        np.testing.assert_array_equal(out[:3], self.right[:3])
        self.assertTrue((out[3:] == 17).all())

    def test_read_only_input(self):
        for array in (self.given["x"], *self.given["weights"].values()):
            array.flags.writeable = False
        np.testing.assert_array_equal(self.kernel.workspace().forward(**self.given), self.right)
        with self.assertRaisesRegex(mok.ArgumentError, "out is read-only"):
            self.kernel.workspace().forward(**self.given, out=self.given["x"])

    def test_several_packages_at_once(self):
        """Each has a library of its own, though all have one name."""
        other = mok.host.load(TWO.host, native_code=True)
        self.assertEqual((self.kernel.info.ranks, other.info.ranks), (1, 2))
        ranks = [arrays(TWO, rank) for rank in range(2)]
        lists = {name: [given[name] for given, _ in ranks] for name in ranks[0][0]}
        for out, (_, right) in zip(other.workspace().forward(**lists), ranks):
            np.testing.assert_array_equal(out, right)
        np.testing.assert_array_equal(self.kernel.workspace().forward(**self.given), self.right)
        files = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            mok.host.load(TWO.host, native_code=True)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)

    def refused(self, text, **replaced):
        with self.assertRaisesRegex(mok.ArgumentError, text):
            self.kernel.workspace().forward(**{**self.given, **replaced})

    def test_wrong_arguments(self):
        x = self.given["x"]
        self.refused(r"x is float32, must be bfloat16 \(or uint16 with its bits\)", x=x.astype(np.float32))
        self.refused("topk_ids is int64, must be int32", topk_ids=self.given["topk_ids"].astype(np.int64))
        self.refused(r"topk_weights has shape \[24, 1\]", topk_weights=self.given["topk_weights"][:, :1])
        self.refused(r"x has strides \[1, 24\] for shape \[24, 64\], must be contiguous", x=np.asfortranarray(x))
        self.refused("x is uint16 of the other byte order", x=x.astype(">u2"))
        self.refused(r"x is of type '\|O', must be bfloat16", x=x.astype(object))
        self.refused("stream is 3, must be None", stream=3)

    def test_wrong_input(self):
        ids = self.given["topk_ids"].copy()
        ids[5, 1] = support.EXPERTS
        workspace = self.kernel.workspace()
        workspace.forward(**{**self.given, "topk_ids": ids})
        with self.assertRaisesRegex(mok.ArgumentError, r"rank 0: topk_ids\[5, 1\] is 4, must be -1 or 0 to 3 \(the first of 1"):
            workspace.check()
        workspace.check()
        with self.assertRaisesRegex(mok.ArgumentError, "the token count is -2, must be 0 to 24"):
            workspace.forward(**self.given, tokens_dev=np.array([-2], dtype=np.int32))
            workspace.check()
        np.testing.assert_array_equal(workspace.forward(**self.given), self.right)

    def test_packages_that_do_not_do(self):
        with self.assertRaisesRegex(mok.ArgumentError, "holds native code for this process: pass native_code=True"):
            mok.host.load(ONE.host)
        with self.assertRaisesRegex(mok.FileError, "cannot read /nowhere/manifest.txt"):
            mok.host.load("/nowhere", native_code=True)

        def damaged(file, change, text):
            copy = os.path.join(support.folder.name, "damaged.mok")
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(ONE.host, copy)
            path = os.path.join(copy, file)
            with open(path, "rb") as f:
                data = f.read()
            with open(path, "wb") as f:
                f.write(change(data))
            with self.assertRaisesRegex(mok.FileError, text):
                mok.host.load(copy, native_code=True)

        damaged("kernel.host.so", lambda data: data[:-1], "kernel.host.so does not match its checksum")
        damaged("kernel.host.so", lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:], "does not match its checksum")
        damaged("manifest.txt", lambda data: data.replace(b"top_k 2", b"top_k 3"), "manifest.txt does not match its checksum")
        damaged("manifest.txt", lambda data: data[:-20], "manifest.txt does not match its checksum")
        damaged("manifest.txt", lambda data: data.replace(b"mok-package 1", b"mok-package 2"), "must begin with 'mok-package 1'")


support.main()
