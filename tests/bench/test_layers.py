#!/usr/bin/env python3
"""The layers that ours is compared with, on the CPU: group offsets, where rows go, and whole layers of several ranks against
plain PyTorch. Triton's interpreter runs the kernels; ranks are threads that take turns. Exit code 77 without PyTorch and Triton.
"""
import gc
import os
import sys
import threading
import types
import unittest
import unittest.mock
import weakref

os.environ["TRITON_INTERPRET"] = "1"
try:
    import torch
    import triton  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import nccl_layers
from layers import Rank, reference, relative_error


class Ranks:
    """torch.distributed for threads of this process. One runs at a time, until it comes to a collective."""

    def __init__(self, count):
        self.count, self.me, self.turn = count, threading.local(), threading.Lock()
        self.meeting, self.parts = threading.Barrier(count), [None] * count

    def exchange(self, part):
        """Everybody's parts."""
        self.parts[self.me.rank] = part
        self.meet()
        parts = list(self.parts)
        self.meet()
        return parts

    def meet(self):
        self.turn.release()
        try:
            self.meeting.wait(60)
        finally:
            self.turn.acquire()

    def all_gather_into_tensor(self, whole, part, async_op=False):
        whole.copy_(torch.cat(self.exchange(part)))
        return types.SimpleNamespace(wait=lambda: None) if async_op else None

    def reduce_scatter_tensor(self, out, part):
        out.copy_(sum(other.float() for other in self.exchange(part)).chunk(self.count)[self.me.rank])

    def all_to_all_single(self, out, part, out_sizes=None, sizes=None):
        pieces = part.split(sizes or part.shape[0] // self.count)
        mine = [other[self.me.rank] for other in self.exchange(pieces)]
        assert out_sizes is None or [piece.shape[0] for piece in mine] == out_sizes
        out.copy_(torch.cat(mine))

    def run(self, body):
        """body(rank) in every rank: their results."""
        results, failures = [None] * self.count, []

        def thread(rank):
            self.me.rank = rank
            with self.turn:
                try:
                    results[rank] = body(rank)
                except BaseException as failure:
                    failures.append(failure)
                    self.meeting.abort()

        threads = [threading.Thread(target=thread, args=(rank,)) for rank in range(self.count)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if failures:
            raise failures[0]
        return results


class Parts(unittest.TestCase):
    def test_grouped(self):
        """Routes of experts 2 to 5 out of -1 to 8, some of which nobody visits."""
        ids = torch.tensor([[5, 2], [-1, 8], [2, 3], [0, 5], [6, 2]], dtype=torch.int32)
        routes, ends = nccl_layers.grouped(ids, 2, 4)
        self.assertEqual(ends.tolist(), [3, 4, 4, 6])
        self.assertEqual(ends.dtype, torch.int32)
        self.assertEqual(routes[:6].tolist(), [1, 4, 9, 5, 0, 7])
        place = nccl_layers.places_of(routes, ends[-1:]).tolist()
        self.assertEqual(place, [4, 0, -1, -1, 1, 3, -1, 5, -1, 2])

    def test_grouped_without_routes(self):
        routes, ends = nccl_layers.grouped(torch.full((3, 2), 7, dtype=torch.int32), 0, 4)
        self.assertEqual(ends.tolist(), [0, 0, 0, 0])
        self.assertEqual(sorted(routes.tolist()), list(range(6)))
        self.assertEqual(nccl_layers.places_of(routes, ends[-1:]).tolist(), [-1] * 6)

    def test_positions(self):
        """Against a list of (expert, source) that is sorted."""
        torch.manual_seed(2)
        for sources, experts in ((1, 1), (1, 5), (3, 1), (4, 7)):
            counts = torch.randint(0, 4, (sources, experts))
            rows = [(e, s, n) for s in range(sources) for e in range(experts) for n in range(int(counts[s, e]))]
            right = [sorted(rows).index(row) for row in rows]
            self.assertEqual(nccl_layers.positions(counts, len(rows)).tolist(), right)

    def test_rows_beyond_the_count_stay(self):
        x = torch.arange(12, dtype=torch.bfloat16).view(3, 4)
        poison = torch.full((5, 4), -1, dtype=torch.bfloat16)
        with unittest.mock.patch.object(torch, "empty", lambda *_, **__: poison):
            out = nccl_layers.take(x, torch.tensor([5, 0, 3, 1, 2]), 5, torch.tensor([3], dtype=torch.int32), 2)
        self.assertEqual(out.tolist(), x[[2, 0, 1]].tolist() + [[-1] * 4] * 2)

    def test_a_graph_keeps_what_it_reads(self):
        """Memory of the call's own tensors, given back after the capture, would be read by every replay."""
        def make():
            own = torch.arange(3)
            return lambda: own + 1, weakref.ref(own)

        fake = unittest.mock.MagicMock()
        names = ("Stream", "current_stream", "stream", "synchronize", "CUDAGraph", "graph")
        with unittest.mock.patch.multiple(torch.cuda, **{name: getattr(fake, name) for name in names}):
            call, own = make()
            replay = nccl_layers.graphed(call)
            del call
            gc.collect()
            self.assertIsNotNone(own())
            self.assertEqual(replay().tolist(), [1, 2, 3])
        fake.CUDAGraph.return_value.replay.assert_called_once_with()


class Layers(unittest.TestCase):
    """Whole layers; hidden and intermediate are as small as the grouped product takes them."""

    def check(self, ranks, experts, top_k, tokens, variants, change=lambda ids: ids):
        info = types.SimpleNamespace(ranks=ranks, hidden=72, intermediate=40, experts=experts, top_k=top_k)
        members = [Rank(info, r, tokens, "cpu") for r in range(ranks)]
        for member in members:
            member.ids = change(member.ids)
        right = reference(members)
        for variant in variants:
            wire = Ranks(ranks)
            with unittest.mock.patch.object(nccl_layers, "dist", wire):
                calls = [variant(member) for member in members]
                for repeat in range(2):
                    out = torch.cat(wire.run(lambda r: calls[r]()))
                    self.assertLess(relative_error(out, right), 8e-3, f"{variant.__name__}, call {repeat + 1}")

    both = (nccl_layers.gather_scatter, nccl_layers.all_to_all)

    def test_one_rank(self):
        self.check(1, 4, 2, 19, self.both)

    def test_two_ranks(self):
        self.check(2, 8, 3, 33, self.both)

    def test_three_ranks(self):
        self.check(3, 6, 2, 11, self.both)

    def test_more_slots_than_local_experts(self):
        self.check(4, 8, 5, 9, self.both)

    def test_uneven_experts(self):
        self.check(2, 5, 2, 21, self.both[:1])
        with self.assertRaises(ValueError):
            self.check(2, 5, 2, 21, self.both[1:])

    def test_an_expert_that_all_visit(self):
        """The first rank has no rows at all."""
        self.check(2, 4, 1, 12, self.both, lambda ids: torch.full_like(ids, 2))

    def test_masked_routes(self):
        self.check(2, 4, 2, 17, self.both, lambda ids: torch.where(ids == 1, -1, ids))


if __name__ == "__main__":
    unittest.main()
