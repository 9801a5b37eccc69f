"""mok.torch: the operator in eager mode, through torch.compile and PyTorch's own checks of operators, on the host target; once
through libmok on the emulated driver; and the example."""
import contextlib
import io
import os
import runpy
import sys
import unittest

import support

support.skip_without("torch")

import torch

torch.cuda.is_available()  # before there is an emulated driver, which is not enough for PyTorch

import mok
import mok.host
import mok.torch

ONE, TWO = support.Case("one"), support.Case("two", ranks=2, shared=0, host=False)


def tensors(case):
    """x, topk_ids, topk_weights, weights and the output of rank 0, which has all experts."""
    take = lambda name, dtype, *shape: torch.frombuffer(bytearray(case.bytes_of(name)), dtype=dtype).reshape(*shape)
    weights = {name: take(name, torch.bfloat16, shape) for name, shape in support.matrix_shapes(support.EXPERTS).items()}
    return (take("x_0", torch.bfloat16, -1, support.HIDDEN), take("topk_ids_0", torch.int32, -1, support.TOP_K),
            take("topk_weights_0", torch.float32, -1, support.TOP_K), mok.Weights(**weights),
            take("out_0", torch.bfloat16, -1, support.HIDDEN))


class Operator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.workspace = mok.host.load(ONE.host, native_code=True).workspace()

    def setUp(self):
        *self.inputs, self.weights, self.right = tensors(ONE)

    def layer(self, *inputs):
        return mok.torch.moe_layer(self.workspace, *inputs, self.weights)

    def compiled(self, **options):
        torch._dynamo.reset()
        return torch.compile(lambda *inputs: self.layer(inputs[0] * 1, *inputs[1:]) + 0, backend="aot_eager", **options)

    def test_eager(self):
        self.assertGreater(len(self.right), 0)
        out = self.layer(*self.inputs)
        self.assertEqual((out.dtype, out.is_contiguous()), (torch.bfloat16, True))
        self.assertTrue(torch.equal(out, self.right))
        mapping = mok.torch.moe_layer(self.workspace, *self.inputs, self.weights._asdict())
        self.assertTrue(torch.equal(mapping, self.right))

    def test_compiled_as_one_graph(self):
        call = self.compiled(fullgraph=True)
        for tokens in (len(self.right), 5, 9, 2):  # the second count makes the graph one for any count
            out = call(*[tensor[:tokens] for tensor in self.inputs])
            self.assertTrue(torch.equal(out, self.right[:tokens]))

    def test_what_pytorch_asks_of_operators(self):
        torch.library.opcheck(torch.ops.mok.moe_layer.default, (self.workspace.number, *self.inputs, *self.weights))

    def test_fake_output(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            out = self.layer(*[mode.from_tensor(tensor) for tensor in self.inputs])
        self.assertEqual((out.shape, out.stride(), out.dtype), (self.right.shape, self.right.stride(), self.right.dtype))

    def test_gradients(self):
        text = "requires a gradient, and this version of mok has no backward kernel: call the layer under torch.no_grad()"
        self.inputs[0].requires_grad_(True)
        self.weights.up.requires_grad_(True)
        with self.assertRaises(mok.NotInThisVersionError) as raised:
            self.layer(*self.inputs)
        self.assertIn(f"x, weights.up {text}", str(raised.exception))
        self.assertEqual(raised.exception.code, 3)
        with self.assertRaises(mok.NotInThisVersionError) as raised:
            torch.ops.mok.moe_layer(self.workspace.number, *self.inputs, *self.weights)
        self.assertIn(text, str(raised.exception))
        with self.assertRaises(mok.NotInThisVersionError):
            self.compiled()(*self.inputs)
        with self.assertRaisesRegex(RuntimeError, "no backward kernel"):
            self.compiled(fullgraph=True)(*self.inputs)
        for context in (torch.no_grad, torch.inference_mode):
            with context():
                self.assertTrue(torch.equal(self.layer(*self.inputs), self.right))
        with torch.no_grad():
            self.assertTrue(torch.equal(self.compiled(fullgraph=True)(*self.inputs), self.right))
        # Gradients of others do not matter.
        other = torch.ones(3, requires_grad=True)
        self.weights.up.requires_grad_(False)
        (self.layer(self.inputs[0].detach(), *self.inputs[1:]).float().sum() * other.sum()).backward()
        self.assertEqual(other.grad.shape, (3,))

    def test_wrong_arguments(self):
        x, ids, weights = self.inputs
        turned = x.t().contiguous().t()
        for text, given in (("x is float16, must be bfloat16", (x.half(), ids, weights)),
                            ("topk_ids is int64, must be int32", (x, ids.long(), weights)),
                            ("topk_weights is bfloat16, must be float32", (x, ids, weights.bfloat16())),
                            (r"x has strides \[1, 24\] for shape \[24, 64\], must be contiguous", (turned, ids, weights)),
                            ("x is a torch.Tensor that does not say where its memory is", (x.to_sparse(), ids, weights))):
            with self.assertRaisesRegex(mok.ArgumentError, text):
                mok.torch.moe_layer(self.workspace, *given, self.weights)
        with self.assertRaisesRegex(mok.ArgumentError, "there is no workspace 1000000 any more"):
            torch.ops.mok.moe_layer(1000000, *self.inputs, *self.weights)


class OnAGpu(support.Emulated):
    """Tensors on the CPU are the emulated device's."""

    def setUp(self):
        self.memory, mok.Kernel.memory = mok.Kernel.memory, "cpu"
        self.env = dict(os.environ)

    def tearDown(self):
        mok.Kernel.memory = self.memory
        os.environ.clear()
        os.environ.update(self.env)
        super().tearDown()

    def test_same_bits(self):
        os.environ["EMULATED_KERNEL"] = os.path.join(ONE.host, "kernel.host.so")
        *inputs, weights, right = tensors(ONE)
        workspace = mok.torch.load(ONE.gpu)
        self.assertTrue(torch.equal(mok.torch.moe_layer(workspace, *inputs, weights), right))
        workspace.check()
        both = torch.cat([weights.gate, weights.up], dim=1)
        packed = weights._replace(gate=both[:, :support.INTERMEDIATE], up=both[:, support.INTERMEDIATE:])
        self.assertTrue(torch.equal(mok.torch.moe_layer(workspace, *inputs, packed), right))
        layer = lambda *inputs: mok.torch.moe_layer(workspace, *inputs, weights)
        graph = torch.compile(layer, backend="aot_eager", fullgraph=True)
        self.assertTrue(torch.equal(graph(*inputs), right))
        number = workspace.number
        workspace.close()
        with self.fails(mok.ArgumentError, "the workspace is closed"):
            mok.torch.moe_layer(workspace, *inputs, weights)
        self.assertEqual(workspace.number, number)

    def test_under_torchrun(self):
        os.environ.update(LOCAL_RANK="1", RANK="1", WORLD_SIZE="2", EMULATED_COUNT="2")
        with mok.torch.load(ONE.gpu) as workspace:
            self.assertEqual(workspace.kernel.device, 1)
        with self.fails(mok.NotInThisVersionError, "is for 2 ranks and this is one of 2 processes", "is not built yet"):
            mok.torch.load(TWO.gpu)
        os.environ["WORLD_SIZE"] = "1"
        with self.fails(mok.ArgumentError, "is for 2 ranks, must be for one", "mok.workspaces"):
            mok.torch.load(TWO.gpu)
        *inputs, weights, _ = tensors(ONE)
        with mok.load(TWO.gpu) as kernel, kernel.workspace() as two:
            with self.fails(mok.ArgumentError, "the workspace has 2 ranks, must have one"):
                mok.torch.moe_layer(two, *inputs, weights)

    def test_memory_of_another_kind(self):
        mok.Kernel.memory = "cuda"
        *inputs, weights, _ = tensors(ONE)
        with mok.torch.load(ONE.gpu) as workspace:
            with self.fails(mok.ArgumentError, "x is on cpu, must be on cuda:0"):
                mok.torch.moe_layer(workspace, *inputs, weights)


class Example(unittest.TestCase):
    def run_example(self, *arguments):
        path, said = os.path.join(support.source, "examples", "torch_layer.py"), io.StringIO()
        before, sys.argv = sys.argv, [path, *arguments, "--mokgen", support.tool]
        torch._dynamo.reset()
        try:
            with contextlib.redirect_stdout(said), self.assertRaises(SystemExit) as ended:
                runpy.run_path(path, run_name="__main__")
        finally:
            sys.argv = before
        return ended.exception.code, said.getvalue()

    def test_example(self):
        code, said = self.run_example("--host", "--compile")
        self.assertRegex(said, r"^2 layers of 8 experts on cpu: relative error of the logits \d\.\d+e-0[3-9], "
                               r"same next token 100%$")
        self.assertEqual(code, 0)

    def test_example_sees_a_difference(self):
        layer = mok.torch.moe_layer
        try:
            mok.torch.moe_layer = lambda workspace, x, ids, weights, w: layer(workspace, x, ids, weights, w._replace(up=w.gate))
            code, said = self.run_example("--host")
        finally:
            mok.torch.moe_layer = layer
        self.assertEqual(code, 6, said)


support.main()
