// The protocol that insert-sync makes is right, in one rank and many, with and without a shared expert.
// RUN: mok-opt --build --set shared_experts=1 --until=insert-sync | mok-opt - --passes=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set gpus=1 --set shared_experts=2 --until=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set comm=epilogue --set shared_experts=1 --until=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set comm=epilogue --set gpus=1 --until=check-protocol | FileCheck %s --check-prefix=FINE
// FINE: mok.after = "check-protocol"

// A lost wait.
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @x_ready/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: tiny.lua:{{[0-9]+}}:3: error: protocol: compute.load, task up reads @ring_x, but no wait makes sure that comm.pull, task dispatch has written it
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @y_done/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT: error: protocol: compute.mma, task down writes a slot of @ring_y, but no wait makes sure that comm.push, task combine of the lap before has read it

// A wait behind the access it is for.
// RUN: mok-opt --build --until=insert-sync | sed -E '/mok.wait @x_ready/{h;d};/mok.load @up /{G}' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=LOST

// A lost signal, one too many, and one ahead of the work.
// RUN: mok-opt --build --until=insert-sync | sed '/mok.signal @h_ready/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=SILENT
// SILENT: error: protocol: compute.load, task down waits for @h_ready, which nobody signals
// RUN: mok-opt --build --until=insert-sync | sed '/mok.signal @h_ready/p' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: protocol: the signals of @h_ready add up to 16 per row_block, its target is 8
// RUN: mok-opt --build --until=insert-sync | sed -E '/mok.signal @x_ready/d; /mok.pull /{h;s/mok.pull.* loc/mok.signal @x_ready[row_block] edge(bulk_to_bulk) loc/;G}' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=LOST

// A wrong target, index or kind of edge.
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @x_ready/s/>= row_pieces/>= up_columns/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: protocol: compute.load, task up waits until @x_ready is 8; its target is 16
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @x_ready/s/row_block/token_block/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: protocol: compute.load, task up waits for @x_ready, which counts per row_block, by another index
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @x_ready/s/bulk_to_bulk/generic_to_bulk/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=EDGE
// EDGE: error: protocol: compute.load, task up: @ring_x goes through an edge of kind bulk_to_bulk, signalled as bulk_to_bulk and awaited as generic_to_bulk

// Waits that could close a circle: for a later task of the same block, for one's own.
// RUN: mok-opt --build --until=insert-sync | sed 's/per_minibatch(dispatch, up, down, combine)/per_minibatch(up, dispatch, down, combine)/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: protocol: compute.load, task up waits for @x_ready of task dispatch, which does not come earlier in the global order
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @x_ready/s/@x_ready.* edge/@h_ready[row_block] >= up_columns * mma_instances edge/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: error: protocol: compute.load, task up waits for @h_ready of task up, which does not come earlier in the global order

// Data that crosses ranks needs a rank barrier, and so does whoever reads it last.
// RUN: mok-opt --build --until=insert-sync | sed 's/mok.barrier rank as routed/mok.barrier grid/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: error: protocol: comm.pull, task dispatch reads @x across ranks after all.publish, task publish wrote it, with no rank barrier between
// RUN: mok-opt --build --until=insert-sync | sed '/mok.barrier rank as combined/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=NOBAR
// NOBAR: error: protocol: all.tokens, task reduce reads @combine across ranks while comm.push, task combine writes it: only a rank barrier orders them

// The same where the epilogue of the down product pushes.
// RUN: mok-opt --build --set comm=epilogue --until=insert-sync | sed '/mok.wait @h_done/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=HSLOT
// HSLOT: error: protocol: compute.mma, task up writes a slot of @ring_h, but no wait makes sure that compute.load, task down of the lap before has read it
// RUN: mok-opt --build --set comm=epilogue --until=insert-sync | sed '/mok.barrier rank as combined/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=PUSHED
// RUN: mok-opt --build --set comm=epilogue --until=insert-sync | sed 's/mok.barrier rank as combined/mok.barrier grid/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=PUSHED
// PUSHED: error: protocol: all.tokens, task reduce reads @combine across ranks {{while|after}} compute.mma, task down {{writes|wrote}} it
// RUN: mok-opt --build --set comm=epilogue --until=insert-sync | sed '/mok.store_pushed/d' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=UNPUSHED
// UNPUSHED: error: protocol: task down has 0 steps store_pushed of product @down, not one
// RUN: mok-opt --build --set comm=epilogue --until=insert-sync | sed -E '/mok.mma @down/{h;d};/mok.store_pushed/{G}' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=AHEAD
// AHEAD: error: protocol: compute.mma, task down stores product @down ahead of its mma

// --no-check: the same findings are warnings.
// RUN: mok-opt --build --until=insert-sync | sed '/mok.wait @x_ready/d' | expect 0 mok-opt - --passes=check-protocol --no-check 2>&1 | FileCheck %s --check-prefix=WARN
// WARN: warning: protocol: compute.load, task up reads @ring_x, but no wait

// Numbers that are not the plan's are errors with and without it, and an edited module is checked again whatever it went through.
// RUN: mok-opt --build --all | sed '/mok.extent @up_columns/s/= 8/= 9/' | expect 1 mok-opt - --all --no-check 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: @up: @up_columns does not cover 64 columns in tiles of 16
// RUN: mok-opt --build --all | sed '/mok.region @ring_x/s/at([0-9]*)/at(256)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: @ring_x: the plan's layout has it in local memory at
// RUN: mok-opt --build --all | sed '/mok.wait @x_ready/d' | expect 7 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=LOST
