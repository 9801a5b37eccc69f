// Waits and signals follow from who touches which region; no task, region or worker here has a name of the real kernel.
// RUN: mok-opt %s --passes=insert-sync --round-trip | FileCheck %s
// RUN: mok-opt --build --set comm=epilogue --until=insert-sync | FileCheck %s --check-prefix=EPILOGUE
// RUN: mok-opt --build --set own_rows=direct --until=insert-sync | FileCheck %s --check-prefix=SPLIT
// RUN: mok-opt --build --set gpus=1 --set own_rows=direct --until=insert-sync | FileCheck %s --check-prefix=DIRECT

module attributes {mok.after = "allocate-rings"} {
  mok.kernel @forward {
    mok.argument @args.up : tensor<?x64x128xbf16>
    mok.extent @halves = 2 from("two")
    mok.extent @parts = 4 from("four")
    mok.extent @wide_columns = 8 from("eight")
    mok.region @source : memref<?x128xbf16> in(heap) at(0) bytes(0)
    mok.region @ring_in : memref<?x128xbf16> in(local) at(0) bytes(0) slot(row_block mod ring_slots)
    mok.region @ring_out : memref<?x64xbf16> in(local) at(0) bytes(0) slot(row_block mod ring_slots)
    mok.region @whole : memref<?x64xbf16> in(local) at(0) bytes(0)
    mok.region @sink : memref<?x64xbf16> in(heap) at(0) bytes(0)
    mok.product @wide a(@ring_in) b(@args.up) out(@ring_out) rows(row_block) depth(hidden) columns(intermediate)
    mok.product @tokens a(@whole) b(@args.up) out(@sink) rows(token_block) depth(hidden) columns(intermediate)

    // Who is complete when: a piece per part, a column per half of the sharing warpgroups. Row blocks first, then token blocks.
    // CHECK: mok.counter @in_ready per(row_block) word(0) words([[#W:]]) target(parts)
    // CHECK: mok.counter @out_ready per(row_block) word([[#W]]) words([[#W]]) target(wide_columns * halves)
    // CHECK: mok.counter @out_done per(row_block) word([[#W+W]]) words([[#W]]) target(parts)
    // CHECK-NOT: mok.counter

    mok.phase @first {
      // A barrier lies between this write and its reader: no wait.
      mok.role @everyone ctas(grid) {
        mok.worker @all first_warp(0) warps(warps) instances(1) shares(cta) {
          // CHECK: mok.task @prepare
          // CHECK-NEXT: mok.publish_tokens
          // CHECK-NEXT: }
          mok.task @prepare over(once) { mok.publish_tokens writes(@source, @whole) }
        }
      }
      mok.barrier rank as ready
    }
    mok.phase @second once(tokens) per_minibatch(bring, wide, take) {
      mok.role @movers ctas(sms_comm) {
        mok.worker @bringer first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          // The slot is free when the product that read it is done, which its own signal tells. That the slot's last writer is done
          // follows from there, so it has no wait.
          // CHECK: mok.task @bring
          // CHECK-NEXT: mok.wait @out_ready[row_block - ring_slots] >= wide_columns * halves edge(read_to_write) lap why("ring_in slot: every wide task of the lap before has read it")
          // CHECK-NEXT: mok.pull
          // CHECK-NEXT: mok.signal @in_ready[row_block] edge(bulk_to_bulk)
          // CHECK-NEXT: }
          mok.task @bring over(row_block, piece) extent(parts) { mok.pull reads(@source) writes(@ring_in) }
        }
        mok.worker @taker first_warp(4) warps(1) instances(push_warps) shares(instance) {
          // CHECK: mok.task @take
          // CHECK-NEXT: mok.wait @out_ready[row_block] >= wide_columns * halves edge(bulk_to_bulk)
          // CHECK-NEXT: mok.push
          // CHECK-NEXT: mok.signal @out_done[row_block] edge(read_to_write)
          // CHECK-NEXT: }
          mok.task @take over(row_block, piece) extent(parts) { mok.push reads(@ring_out) writes(@sink) }
        }
      }
      mok.role @doers ctas(sms_compute) {
        mok.worker @feed first_warp(0) warps(1) instances(1) shares(cta) {
          // CHECK: mok.task @tokens
          // CHECK-NEXT: mok.load @tokens
          // CHECK-NEXT: }
          mok.task @tokens over(column, token_block) extent(wide_columns) { mok.load @tokens }
          // CHECK: mok.task @wide
          // CHECK-NEXT: mok.wait @in_ready[row_block] >= parts edge(bulk_to_bulk) why("ring_in: every bring task of the block has written it")
          // CHECK-NEXT: mok.load @wide
          // CHECK-NEXT: }
          mok.task @wide over(column, row_block) extent(wide_columns) { mok.load @wide }
        }
        mok.worker @multiply first_warp(4) warps(4) instances(halves) shares(cta) {
          mok.task @tokens over(column, token_block) extent(wide_columns) { mok.mma @tokens }
          // The store waits for its slot as late as it can, after the product.
          // CHECK: mok.task @wide
          // CHECK-NEXT: mok.mma @wide
          // CHECK-NEXT: mok.wait @out_done[row_block - ring_slots] >= parts edge(read_to_write) lap why("ring_out slot: every take task of the lap before has read it")
          // CHECK-NEXT: mok.store @wide
          // CHECK-NEXT: mok.signal @out_ready[row_block] edge(bulk_to_bulk)
          // CHECK-NEXT: }
          mok.task @wide over(column, row_block) extent(wide_columns) { mok.mma @wide  mok.store @wide }
        }
      }
    }
  }
}

// Rows that are pushed from the down product's epilogue: nobody reads y, so nothing waits for it. The slot of h still waits for the
// down tasks, whose counter is then named for what they have done with h. Combined rows cross ranks: the rank barrier is enough.
// EPILOGUE: mok.counter @x_ready per(row_block)
// EPILOGUE-NEXT: mok.counter @h_ready per(row_block)
// EPILOGUE-NEXT: mok.counter @h_done per(row_block) {{.*}} target(down_columns * mma_instances)
// EPILOGUE-NOT: mok.counter
// EPILOGUE: per_minibatch(dispatch, up, down)
// EPILOGUE: mok.worker @mma
// EPILOGUE: mok.task @up
// EPILOGUE-NEXT: mok.mma @up
// EPILOGUE-NEXT: mok.wait @h_done[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap
// EPILOGUE-NEXT: mok.store @up
// EPILOGUE: mok.task @down
// EPILOGUE-NEXT: mok.mma @down
// EPILOGUE-NEXT: mok.store_pushed @down reads(@row_source) writes(@combine)
// EPILOGUE-NEXT: mok.signal @h_done[row_block] edge(read_to_write)
// EPILOGUE-NEXT: }

// Rows read where their tokens are: the routes were placed ahead of a barrier, so nobody waits for x.
// DIRECT: mok.counter @h_ready per(row_block) word(0)
// DIRECT: mok.counter @h_done per(row_block)
// DIRECT-NOT: mok.counter
// DIRECT: mok.worker @load
// DIRECT-NEXT: mok.task @up
// DIRECT-NEXT: mok.load_gathered @up
// DIRECT: mok.task @down
// DIRECT-NEXT: mok.wait @h_ready[row_block] {{.*}}edge(bulk_to_bulk)
// DIRECT: mok.mma @up
// DIRECT-NEXT: mok.wait @h_done[row_block - ring_slots] {{.*}}edge(read_to_write) lap
// DIRECT: mok.store_pushed @down
// DIRECT-NEXT: mok.signal @h_done[row_block] edge(read_to_write)

// Rows of others come by bulk copies and are picked by ordinary loads.
// SPLIT: mok.pull
// SPLIT-NEXT: mok.signal @x_ready[row_block] edge(bulk_to_generic)
// SPLIT: mok.task @combine
// SPLIT-NEXT: mok.wait @y_ready[row_block] {{.*}}edge(bulk_to_bulk)
// SPLIT: mok.wait @x_ready[row_block] {{.*}}edge(bulk_to_generic)
// SPLIT-NEXT: mok.load_gathered @up
// SPLIT: mok.store_split @down
// SPLIT-NEXT: mok.signal @y_ready[row_block] edge(bulk_to_bulk)
