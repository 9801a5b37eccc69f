// RUN: mok-opt %s --passes=assign-roles --round-trip | FileCheck %s
// RUN: for comm in sms epilogue; do mok-opt %s --passes=assign-roles --set cluster=2 --set comm=$comm --round-trip | FileCheck %s --check-prefix=PAIRS || exit 1; done
// RUN: mok-opt %s --passes=assign-roles --set cluster=2 --set gpus=1 --set own_rows=direct | FileCheck %s --check-prefix=PAIRS1
// RUN: mok-opt %s --passes=assign-roles --set gpus=1 --set own_rows=copy | FileCheck %s --check-prefix=ALONE
// RUN: mok-opt %s --passes=assign-roles --set own_rows=direct --round-trip | FileCheck %s --check-prefix=SPLIT
// RUN: mok-opt %s --passes=assign-roles --set own_rows=direct --set comm=epilogue | FileCheck %s --check-prefix=SPLITPUSH
// RUN: sed 's/mok.combine %y by/mok.combine %d by/' %s | expect 1 mok-opt - --passes=assign-roles --set own_rows=direct 2>&1 | FileCheck %s --check-prefix=NOSPLIT
// RUN: mok-opt %s --passes=assign-roles --set gpus=1 --set own_rows=direct --round-trip | FileCheck %s --check-prefix=DIRECT
// RUN: sed 's/mok.combine %y by/mok.combine %d by/' %s | expect 1 mok-opt - --passes=assign-roles --set gpus=1 --set own_rows=direct 2>&1 | FileCheck %s --check-prefix=NOPUSH
// RUN: mok-opt %s --passes=assign-roles --set comm=epilogue --round-trip | FileCheck %s --check-prefix=EPILOGUE
// RUN: sed 's/mok.combine %y by/mok.combine %d by/' %s | expect 1 mok-opt - --passes=assign-roles --set comm=epilogue 2>&1 | FileCheck %s --check-prefix=NOPUSH
// RUN: expect 1 mok-opt %s --passes=assign-roles --set comm=warps 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: sed '/mok.route/d; s/%r\b/%ids/' %s | expect 1 mok-opt - --passes=assign-roles 2>&1 | FileCheck %s --check-prefix=NOROUTE

module attributes {mok.after = "fuse-epilogues"} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x128xbf16>
    mok.argument @args.topk_ids : tensor<?x2xi32>
    mok.argument @args.topk_weights : tensor<?x2xf32>
    mok.argument @args.up : tensor<?x64x128xbf16>
    mok.argument @args.down : tensor<?x128x64xbf16>
    mok.argument @args.out : tensor<?x128xbf16>
    %x = mok.input @args.x : tensor<?x128xbf16>
    %ids = mok.input @args.topk_ids : tensor<?x2xi32>
    %w = mok.input @args.topk_weights : tensor<?x2xf32>
    %r = mok.route %ids : (tensor<?x2xi32>) -> tensor<?x2xi32>
    %d = mok.dispatch %x by %r : (tensor<?x128xbf16>, tensor<?x2xi32>) -> tensor<?x128xbf16>
    %h = mok.grouped_matmul %d with(@args.up) depth(hidden) columns(intermediate) epilogue(relu2) : (tensor<?x128xbf16>) -> tensor<?x64xbf16>
    %y = mok.grouped_matmul %h with(@args.down) depth(intermediate) columns(hidden) : (tensor<?x64xbf16>) -> tensor<?x128xbf16>
    %c = mok.combine %y by %r : (tensor<?x128xbf16>, tensor<?x2xi32>) -> tensor<?x2x128xbf16>
    %o = mok.reduce %c weights(%w) : (tensor<?x2x128xbf16>, tensor<?x2xf32>) -> tensor<?x128xbf16>
    mok.output %o to @args.out : tensor<?x128xbf16>
  }
}

// Values became memory: rows between the products are padded rows, the combined ones are slots of routes.
// CHECK-NOT: tensor<?x64xbf16>
// CHECK-DAG: mok.region @ring_x : memref<?x128xbf16>
// CHECK-DAG: mok.region @ring_h : memref<?x64xbf16>
// CHECK-DAG: mok.region @ring_y : memref<?x128xbf16>
// CHECK-DAG: mok.region @combine : memref<?x128xbf16>
// CHECK: mok.product @up a(@ring_x) b(@args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(relu2)
// CHECK: mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden)
// CHECK: mok.phase @route
// CHECK:   mok.role @all ctas(grid)
// CHECK:     mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta)
// CHECK:       mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list)
// CHECK:       mok.publish_tokens reads(@args.x) writes(@x)
// CHECK:   mok.barrier rank as routed
// CHECK: mok.phase @experts
// CHECK:     mok.place_experts
// CHECK:   mok.barrier grid
// CHECK:     mok.place_rows
// CHECK:   mok.barrier grid
// CHECK:   mok.role @comm ctas(sms_comm)
// CHECK:     mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance)
// CHECK:       mok.task @dispatch
// CHECK:         mok.pull reads(@row_source, @x) writes(@ring_x)
// CHECK:     mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance)
// CHECK:       mok.task @combine
// CHECK:         mok.push reads(@row_source, @ring_y) writes(@combine)
// CHECK:   mok.role @compute ctas(sms_compute)
// CHECK:     mok.worker @load first_warp(0) warps(1) instances(1) shares(cta)
// CHECK:       mok.task @up
// CHECK-NEXT:    mok.load @up
// CHECK:     mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta)
// CHECK:       mok.task @up
// CHECK-NEXT:    mok.mma @up
// CHECK-NEXT:    mok.store @up
// CHECK:   mok.barrier rank as combined
// CHECK: mok.phase @reduce
// CHECK:     mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance)
// CHECK:       mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out)
// CHECK-NOT: mok.input

// A rank that is alone publishes nothing and reads its caller's tokens.
// ALONE-NOT: mok.publish_tokens
// ALONE: mok.pull reads(@row_source, @args.x) writes(@ring_x)

// NOROUTE: error: the kernel has no mok.route

// comm = "epilogue": the product whose rows are combined pushes them itself. It has no out, nobody else pushes, y has no region.
// EPILOGUE-NOT: mok.region @ring_y
// EPILOGUE: mok.product @up a(@ring_x) b(@args.up) out(@ring_h) rows(row_block)
// EPILOGUE: mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden)
// EPILOGUE: mok.role @comm ctas(sms_comm)
// EPILOGUE-NEXT: mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance)
// EPILOGUE-NEXT:   mok.task @dispatch
// EPILOGUE-NOT: mok.worker @push
// EPILOGUE-NOT: mok.task @combine
// EPILOGUE: mok.role @compute ctas(sms_compute)
// EPILOGUE: mok.worker @mma
// EPILOGUE:   mok.store @up
// EPILOGUE:   mok.task @down
// EPILOGUE-NEXT: mok.mma @down
// EPILOGUE-NEXT: mok.store_pushed @down reads(@row_source) writes(@combine)
// EPILOGUE: mok.barrier rank as combined
// EPILOGUE: mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out)

// own_rows = "direct" on one rank: products read rows of x by their routes and push their own; all CTAs compute.
// DIRECT-NOT: mok.region @ring_x
// DIRECT-NOT: mok.region @ring_y
// DIRECT: mok.product @up a(@args.x) b(@args.up) out(@ring_h) rows(row_block)
// DIRECT: mok.product @down a(@ring_h) b(@args.down) rows(row_block)
// DIRECT-NOT: mok.role @comm
// DIRECT: mok.role @compute ctas(grid)
// DIRECT-NEXT: mok.worker @load first_warp(0) warps(4) instances(1) shares(cta)
// DIRECT-NEXT:   mok.task @up
// DIRECT-NEXT:     mok.load_gathered @up reads(@row_source, @args.x)
// DIRECT:        mok.task @down
// DIRECT-NEXT:     mok.load @down
// DIRECT: mok.worker @mma first_warp(4) warps(4)
// DIRECT:   mok.store @up
// DIRECT:   mok.store_pushed @down reads(@row_source) writes(@combine)
// DIRECT: mok.barrier rank as combined

// Several ranks: rows of others pass through the rings, own ones do not.
// SPLIT: mok.product @up a(@ring_x) b(@args.up) out(@ring_h)
// SPLIT: mok.product @down a(@ring_h) b(@args.down) out(@ring_y)
// SPLIT: mok.pull reads(@row_source, @x) writes(@ring_x)
// SPLIT: mok.push reads(@row_source, @ring_y) writes(@combine)
// SPLIT: mok.role @compute ctas(sms_compute)
// SPLIT-NEXT: mok.worker @load first_warp(0) warps(4)
// SPLIT:   mok.load_gathered @up reads(@row_source, @x, @ring_x)
// SPLIT:   mok.store @up
// SPLIT:   mok.store_split @down reads(@row_source) writes(@combine)
// SPLITPUSH: mok.load_gathered @up reads(@row_source, @x, @ring_x)
// SPLITPUSH: mok.store_pushed @down reads(@row_source) writes(@combine)
// NOSPLIT: error: with own_rows = "direct" only a product's rows that go nowhere else are combined

// NOPUSH: error: without pushing workers only a product's rows that go nowhere else are combined
// WARPS: error: row movement by spare warps of compute CTAs is not in this version

// Who multiplies works in the plan's clusters, and nobody else.
// PAIRS: mok.role @all ctas(grid) {
// PAIRS: mok.role @comm ctas(sms_comm) {
// PAIRS: mok.role @compute ctas(sms_compute) cluster(2) {
// PAIRS: mok.role @all ctas(grid) {
// PAIRS1: mok.role @all ctas(grid) {
// PAIRS1: mok.role @compute ctas(grid) cluster(2) {
// PAIRS1: mok.role @all ctas(grid) {
