// Intended look of the module (not final syntax; the owner of compiler/ir settles it and replaces this file by a real dump).
// Every fact kernel.cu shows is here: phases, barriers, roles, workers, order, waits, signals, edge kinds, slot arithmetic.
module attributes {mok.after = "lower-to-cuda", mok.plan = {hidden = 7168, top_k = 8}} {
  mok.kernel @forward {
    // --- layer altitude (before fuse-epilogues): values only
    //   %routes = mok.route @topk_ids
    //   %xr = mok.dispatch %x, %routes
    //   %g = mok.grouped_matmul %xr, @gate    %u = mok.grouped_matmul %xr, @up
    //   %h = mok.gated_activation %g, %u swiglu clamp(7.0)
    //   %y = mok.grouped_matmul %h, @down
    //   %c = mok.combine %y, %routes
    //   %sg.. %sy: the same on %x with @shared_gate, @shared_up, @shared_down
    //   %out = mok.reduce %c, @topk_weights, %sy
    mok.region @ring_x : memref<?x7168xbf16, #mok.space<local>>           // row_block % ring_slots
    mok.counter @x_ready per row_block words(0) target(row_pieces)
    mok.counter @h_ready per row_block target(up_columns * mma_instances)
    mok.product @up tile(128, 256, 64) stages(4) a(@ring_x) b(@gate, @up) out(@ring_h) epilogue(swiglu)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish warps(12) instances(1) { mok.sort_routes  mok.publish_tokens }
      }
      mok.barrier rank @routed
      // ...
    }
    mok.phase @experts {
      mok.order [@shared_up, @shared_down], per_minibatch [@dispatch, @up, @down, @combine]
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull warps(1) instances(4) shares(instance) {
          mok.task @dispatch over (row_block, piece) {
            mok.wait @h_ready[row_block - ring_slots] >= target edge(read_to_write) lap
            mok.pull @ring_x
            mok.signal @x_ready[row_block] edge(bulk_to_bulk)
          }
        }
      }
      mok.role @compute ctas(sms_compute) {
        mok.worker @load warps(1) instances(1) shares(cta) {
          mok.task @up over (row_block, column) {
            mok.wait @x_ready[row_block] >= target edge(bulk_to_bulk)
            mok.load @up
          }
        }
        mok.worker @mma warps(4) instances(2) shares(cta) {
          mok.task @up over (row_block, column) {
            mok.mma @up
            mok.wait @y_ready[row_block - ring_slots] >= target edge(read_to_write) lap
            mok.store @up
            mok.signal @h_ready[row_block] edge(bulk_to_bulk)
          }
        }
      }
      mok.barrier rank @combined
    }
    mok.phase @reduce { /* ... */ }
  }
}
