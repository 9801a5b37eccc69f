// The protocol that insert-sync makes is right, in one rank and many, with and without a shared expert.
// RUN: mok-opt --build --set shared_experts=1 --until=insert-sync | mok-opt - --passes=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set gpus=1 --set own_rows=direct --set shared_experts=2 --until=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set comm=epilogue --set shared_experts=1 --until=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set comm=epilogue --set gpus=1 --set own_rows=copy --until=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set gpus=1 --set own_rows=direct --until=check-protocol | FileCheck %s --check-prefix=FINE
// In rounds, in pairs and in both.
// RUN: for comm in sms epilogue; do for cluster in 1 2; do for ring in 128 256 384; do mok-opt --build --set comm=$comm --set cluster=$cluster --set tile_m=64 --set minibatch_rows=128 --set ring_rows=$ring --set tokens_per_gpu=640 --set shared_experts=1 --until=check-protocol | FileCheck %s --check-prefix=FINE || exit 1; done; done; done
// RUN: for cluster in 1 2; do for ring in 128 256 384; do mok-opt --build --set gpus=1 --set own_rows=direct --set cluster=$cluster --set tile_m=64 --set minibatch_rows=128 --set ring_rows=$ring --set tokens_per_gpu=640 --until=check-protocol | FileCheck %s --check-prefix=FINE || exit 1; done; done
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

// Tasks that run a minibatch ahead of the ones that free their slots need a ring of two minibatches: also where rows stay in place.
// RUN: mok-opt --build --set comm=sms --set tile_m=64 --set minibatch_rows=128 --set ring_rows=128 --set tokens_per_gpu=640 --until=insert-sync | sed 's/per_minibatch(dispatch, up, down, combine)/& ahead(dispatch, up)/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: protocol: compute.mma, task up waits for @y_ready of task down, of a later round, because the ring is shorter than two minibatches
// RUN: mok-opt --build --set gpus=1 --set own_rows=direct --set tile_m=64 --set minibatch_rows=128 --set ring_rows=128 --set tokens_per_gpu=640 --until=insert-sync | sed 's/per_minibatch(up, down)/& ahead(up)/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=SHORT1
// SHORT1: error: protocol: compute.mma, task up waits for @h_done of task down, of a later round, because the ring is shorter than two minibatches
// Two are enough, and tasks of one round may be split anywhere.
// RUN: mok-opt --build --set comm=sms --set tile_m=64 --set minibatch_rows=128 --set ring_rows=256 --set tokens_per_gpu=640 --until=insert-sync | sed 's/per_minibatch(dispatch, up, down, combine)/& ahead(dispatch, up)/' | mok-opt - --passes=check-protocol | FileCheck %s --check-prefix=FINE
// RUN: mok-opt --build --set comm=sms --set tile_m=64 --set minibatch_rows=128 --set ring_rows=256 --set tokens_per_gpu=640 --until=insert-sync | sed 's/per_minibatch(dispatch, up, down, combine)/& ahead(dispatch)/' | mok-opt - --passes=check-protocol | FileCheck %s --check-prefix=FINE

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

// A signal that frees a slot while bulk reads of it may still run.
// RUN: mok-opt --build --until=insert-sync | sed '/mok.signal @y_done/s/read_to_write/generic_to_generic/' | expect 7 mok-opt - --passes=check-protocol 2>&1 | FileCheck %s --check-prefix=FREES
// FREES: error: protocol: comm.push, task combine frees a slot of @ring_y with edge generic_to_generic, which does not wait for its bulk reads

// What primitives fix, a module cannot state otherwise: places, the tiles of a task, warps, CTAs.
// RUN: mok-opt --build --all | sed '/mok.push /s/reads(@row_source, @ring_y)/reads(@row_source)/' | expect 1 mok-opt - --all --no-check 2>&1 | FileCheck %s --check-prefix=READS
// READS: tiny.lua:{{[0-9]+}}:3: error: mok.push reads @row_source, @ring_y, not @row_source
// RUN: mok-opt --build --all | sed '/mok.pull /s/@x)/@args.x)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=PEERS
// PEERS: error: mok.pull reads @row_source, @x, not @row_source, @args.x
// RUN: mok-opt --build --set gpus=1 --set own_rows=copy --all | sed '/mok.pull /s/@args.x/@combine/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: mok.pull reads @row_source, @args.x, not @row_source, @combine
// RUN: mok-opt --build --all | sed '/mok.place_rows/s/writes(@row_source)/writes(@ring_x)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=WRITES
// WRITES: error: mok.place_rows writes @row_source, not @ring_x
// RUN: mok-opt --build --all | sed '/mok.task @publish/s/over(once)/over(token)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=SPACE
// SPACE: error: mok.sort_routes goes over (once), task @publish over (token)
// RUN: mok-opt --build --all | sed '0,/mok.task @up /s/over(column, row_block)/over(row_block, column)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=TILES
// TILES: error: task @up goes through other tiles in worker @mma than in worker @load
// RUN: mok-opt --build --all | sed 's/mok.pull .*/&\n&/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: task @dispatch has mok.pull twice
// RUN: mok-opt --build --all | sed '/mok.worker @push/s/first_warp(pull_warps)/first_warp(0)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=COMMON
// COMMON: error: workers @pull and @push of role @comm have a warp in common
// RUN: mok-opt --build --all | sed '/mok.worker @load/s/first_warp(0)/first_warp(33)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: worker @load: warps 33 to 33 are not in a CTA of
// RUN: mok-opt --build --all | sed '/mok.worker @mma/s/ warps(4)/ warps(1)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=CREW
// CREW: error: mok.mma is the work of 4 warps, an instance of worker @mma has 1
// RUN: mok-opt --build --all | sed '/mok.worker @mma/s/first_warp(4)/first_warp(3)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=ALIGN
// ALIGN: error: mok.mma: worker @mma starts at warp 3, a warpgroup at a multiple of 4
// RUN: mok-opt --build --all | sed '/mok.worker @pull/s/instances(pull_warps)/instances(1)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: mok.pull: worker @pull has 1 instances in a CTA, the plan is for
// RUN: mok-opt --build --all | sed '/mok.worker @tokens/s/shares(instance)/shares(cta)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=SHARES
// SHARES: error: mok.reduce_token: the instances of worker @tokens take tasks of their own: shares(instance)
// RUN: mok-opt --build --all | sed '/mok.role @comm/s/sms_comm/sms_compute/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=BESIDE
// BESIDE: error: roles @comm and @compute run at once on ctas(sms_compute) and ctas(sms_compute), which have CTAs in common
// RUN: mok-opt --build --all | sed '0,/mok.role @all/s/ctas(grid)/ctas(sms_comm)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: error: mok.sort_routes is the work of all CTAs: ctas(grid), role @all has ctas(sms_comm)
// Who multiplies works in the plan's clusters, and nobody else.
// RUN: for n in 0 1 3; do mok-opt --build --set cluster=2 --all | sed "/mok.role @compute/s/ cluster(2)/ cluster($n)/" | expect 1 mok-opt - --all --no-check 2>&1 | FileCheck %s --check-prefix=CLUSTER || exit 1; done
// RUN: mok-opt --build --set cluster=2 --all | sed '/mok.role @compute/s/ cluster(2)//' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: error: mok.load: role @compute has clusters of {{[013]}} CTAs, not of 2 as the plan has them
// RUN: mok-opt --build --set cluster=1 --all | sed '/mok.role @compute/s/ctas(sms_compute)/& cluster(2)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=NOCLUSTER
// NOCLUSTER: error: mok.load: role @compute has clusters of 2 CTAs, not of 1 as the plan has them
// RUN: mok-opt --build --set cluster=2 --set comm=sms --all | sed '/mok.role @comm/s/ctas(sms_comm)/& cluster(2)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=MOVERS
// MOVERS: error: mok.pull: role @comm has clusters of 2 CTAs, not of 1 as the plan has them

// Operands of products hold the product's rows, as wide as it reads them; their weights are its experts'.
// RUN: mok-opt --build --all | sed '/mok.product @up/s/a(@ring_x)/a(@args.x)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: error: product @up: a @x does not hold its rows by row_block
// RUN: mok-opt --build --all | sed '/mok.product @up/s/a(@ring_x)/a(@ring_h)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: error: product @up: a @ring_h is memref<?x64xbf16>, not memref<?x128xbf16>
// RUN: mok-opt --build --all | sed '/mok.product @down/s/b(@args.down)/b(@args.up)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=WEIGHT
// WEIGHT: error: product @down: b @args.up is tensor<?x64x128xbf16>, not tensor<?x128x64xbf16>
// RUN: mok-opt --build --set shared_experts=1 --all | sed '/mok.product @down/s/b(@args.down)/b(@args.shared_down)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=THEIRS
// THEIRS: error: product @down: rows of row_blocks go through routed experts, @args.shared_down is not theirs
// RUN: mok-opt --build --set shared_experts=1 --all | sed '/mok.product @shared_up/s/rows(token_block)/rows(row_block)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: product @shared_up: a @x does not hold its rows by row_block
// RUN: mok-opt --build --all | sed '/mok.product @up/s/epilogue(swiglu)/epilogue(geglu)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=ACT
// ACT: error: product @up: epilogue geglu, the description has swiglu
// RUN: mok-opt --build --all | sed '/mok.product @up/s/epilogue(swiglu)/epilogue(swiglu) clamp(7.0)/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=CLAMP
// CLAMP: error: product @up: its clamp is not the description's

// Regions and arguments are as the plan and the caller have them.
// RUN: mok-opt --build --all | sed '/mok.region @ring_x/s/ slot(.*) loc/ loc/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=RING
// RING: error: @ring_x: a ring holds a block in slot(row_block mod ring_slots)
// RUN: mok-opt --build --all | sed '/mok.region @combine/s/x128xbf16/x128xf32/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: @combine: the plan's layout holds memref<?x128xbf16>, not memref<?x128xf32>
// RUN: mok-opt --build --all | sed '/mok.argument @args.up/s/x64x128x/x72x128x/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=CALLER
// CALLER: error: @args.up: the caller passes tensor<?x64x128xbf16>, not tensor<?x72x128xbf16>

// A launch goes through a rank barrier once, at the end of a phase that it knows, and each has its flags.
// RUN: mok-opt --build --all | sed 's/mok.barrier rank as combined/mok.barrier rank as routed/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=ONCE
// ONCE: error: phase @experts: a launch comes through rank barrier 'routed' twice, and its flags stop it once
// RUN: mok-opt --build --all | sed '0,/mok.barrier grid/s/barrier grid/barrier rank as placed/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=MIDDLE
// MIDDLE: error: phase @experts: rank barrier 'placed' must be its end, where a launch of single phases stops
// MIDDLE: error: phase @experts: rank barrier 'combined' is one more than the 2 that have flags
// RUN: mok-opt --build --all | sed 's/mok.phase @reduce/mok.phase @finish/' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=PHASE
// PHASE: error: phase @finish: a launch has the phases route, experts and reduce
