// RUN: mok-opt %s --passes=tile --round-trip | FileCheck %s
// RUN: mok-opt %s --passes=tile --round-trip --set tile_m=64 --set minibatch_rows=64 --set ring_rows=192 --set cluster=1 --set tokens_per_gpu=640 | FileCheck %s --check-prefix=AHEAD
// RUN: mok-opt %s --passes=tile --set tile_m=64 --set minibatch_rows=64 --set ring_rows=128 --set cluster=1 --set tokens_per_gpu=640 | FileCheck %s --check-prefix=TURNS
// RUN: mok-opt %s --passes=tile --set tile_m=64 --set minibatch_rows=256 --set ring_rows=512 --set cluster=1 --set tokens_per_gpu=64 | FileCheck %s --check-prefix=AHEAD
// RUN: mok-opt %s --passes=tile --set tile_m=64 --set minibatch_rows=512 --set ring_rows=512 --set cluster=1 --set tokens_per_gpu=64 | FileCheck %s --check-prefix=TURNS
// RUN: sed 's/a(@x)/a(@y)/' %s | expect 1 mok-opt - --passes=tile 2>&1 | FileCheck %s --check-prefix=CIRCLE

module attributes {mok.after = "assign-roles"} {
  mok.kernel @forward {
    mok.argument @args.gate : tensor<?x64x128xbf16>
    mok.argument @args.up : tensor<?x64x128xbf16>
    mok.argument @args.down : tensor<?x128x64xbf16>
    mok.argument @args.x : tensor<?x128xbf16>
    mok.region @x : memref<?x128xbf16>
    mok.region @h : memref<?x64xbf16>
    mok.region @y : memref<?x128xbf16>
    mok.region @s : memref<?x64xbf16>
    // 64 columns of out, 16 per tile: gate and up take 8 each.
    // CHECK: mok.extent @row_pieces = {{[0-9]+}} from("ceil(row_padding / dispatch_rows)")
    // CHECK: mok.extent @minibatch_blocks = {{[0-9]+}} from("minibatch_rows / row_padding")
    // CHECK: mok.extent @first_columns = 8 from("ceil(intermediate / 8)")
    // CHECK: mok.extent @second_columns = 8 from("ceil(hidden / 16)")
    // CHECK: mok.product @first {{.*}} tile(gate_up) m(64) n(16) k(64) stages({{[0-9]+}})
    // CHECK: mok.product @second {{.*}} tile(down) m(64) n(16) k(64) stages({{[0-9]+}})
    mok.product @first a(@x) b(@args.gate, @args.up) out(@h) rows(row_block) depth(hidden) columns(intermediate) epilogue(geglu)
    mok.product @second a(@h) b(@args.down) out(@y) rows(row_block) depth(intermediate) columns(hidden)
    mok.product @side a(@args.x) b(@args.up) out(@s) rows(token_block) depth(hidden) columns(intermediate) epilogue(relu2)
    // Token tasks once and first; then producers ahead of consumers, whatever their order in the module.
    // CHECK: mok.phase @experts once(side) per_minibatch(fetch, first, second)
    mok.phase @experts {
      // CHECK: mok.role @b
      mok.role @b ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          // A worker's tasks follow the global order; blocks vary fastest in a product, pieces in a move.
          // CHECK: mok.task @side over(column, token_block) extent(side_columns)
          // CHECK: mok.task @first over(column, row_block) extent(first_columns)
          // CHECK: mok.task @second over(column, row_block) extent(second_columns)
          mok.task @second { mok.load @second }
          mok.task @first { mok.load @first }
          mok.task @side { mok.load @side }
        }
        mok.worker @mma first_warp(4) warps(4) instances(1) shares(cta) {
          mok.task @second { mok.mma @second  mok.store @second }
          mok.task @first { mok.mma @first  mok.store @first }
          mok.task @side { mok.mma @side  mok.store @side }
        }
      }
      mok.role @a ctas(sms_comm) {
        mok.worker @move first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          // CHECK: mok.task @fetch over(row_block, piece) extent(row_pieces)
          mok.task @fetch { mok.pull reads(@args.x) writes(@x) }
        }
      }
    }
  }
}

// CIRCLE: error: the tasks of phase @experts wait for each other in a circle

// Up to the first product tasks run a minibatch ahead where the ring has three minibatches, or two and so all rows; else by turns.
// AHEAD: mok.phase @experts once(side) per_minibatch(fetch, first, second) ahead(fetch, first)
// TURNS: mok.phase @experts once(side) per_minibatch(fetch, first, second)
// TURNS-NOT: ahead(
