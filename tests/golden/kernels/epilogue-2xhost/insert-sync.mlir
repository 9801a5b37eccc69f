module attributes {mok.after = "insert-sync", mok.plan = {given = {clamp = loc("model.lua":2:139), comm = loc("model.lua":5:12), experts = loc("model.lua":2:68), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:35), intermediate = loc("model.lua":2:49), minibatch_rows = loc("model.lua":5:47), name = loc("model.lua":2:9), ring_rows = loc("model.lua":5:31), shared_experts = loc("model.lua":2:92), shared_intermediate = loc("model.lua":2:112), tile_m = loc("model.lua":5:68), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:81)}, gpu = "host", model = {activation = "swiglu", clamp = 1.500000e+00 : f64, dtype = "bf16", experts = 5 : i64, hidden = 136 : i64, intermediate = 88 : i64, name = "epilogue-2xhost", shared_experts = 2 : i64, shared_intermediate = 200 : i64, top_k = 3 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 576 : i64, cluster = 1 : i64, combine_bytes = 31280 : i64, comm = 2 : i64, dispatch_bytes = 31280 : i64, dispatch_rows = 4 : i64, down_k = 64 : i64, down_m = 64 : i64, down_n = 48 : i64, down_stages = 6 : i64, expected_rows = 231 : i64, exposed_us = 2.321860e+02 : f64, forward_us = 4002.8130000000001 : f64, gate_up_k = 64 : i64, gate_up_m = 64 : i64, gate_up_n = 16 : i64, gate_up_stages = 6 : i64, grid = 8 : i64, idle_permille = 393 : i64, local_bytes = 78336 : i64, local_copy_bytes = 63104 : i64, memory_us = 1.414450e+02 : f64, minibatch_rows = 64 : i64, own_rows = 0 : i64, padded_rows = 384 : i64, products_us = 3770.627 : f64, pull_warps = 8 : i64, push_warps = 0 : i64, readiness = 0 : i64, ring_bytes = 28672 : i64, ring_rows = 64 : i64, ring_slots = 1 : i64, roofline_us = 1351.6220000000001 : f64, row_padding = 64 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 93568 : i64, slot_bytes = 272 : i64, sms_comm = 1 : i64, sms_compute = 7 : i64, sms_reserved = 0 : i64, sms_total = 8 : i64, symmetric_bytes = 71168 : i64, threads = 256 : i64, two_wave_rows = 3856 : i64, warp_slots = 4 : i64, warps = 8 : i64, waves_down = 1 : i64, waves_gate_up = 2 : i64, weight_bytes = 378624 : i64, wire_dedup = 0 : i64, wire_us = 1.434800e+01 : f64}, schedule = {cluster = "auto", comm = "epilogue", comm_sms = "auto", minibatch_rows = 64 : i64, own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = 64 : i64, stages = "auto", tile_k = "auto", tile_m = 64 : i64, tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "host", sms = "auto"}, gpus = 2 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 64 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x136xbf16> loc("model.lua":2:35)
    mok.argument @args.topk_ids : tensor<?x3xi32> loc("model.lua":2:81)
    mok.argument @args.topk_weights : tensor<?x3xf32> loc("model.lua":2:81)
    mok.argument @args.gate : tensor<?x88x136xbf16> loc("model.lua":2:49)
    mok.argument @args.up : tensor<?x88x136xbf16> loc("model.lua":2:49)
    mok.argument @args.down : tensor<?x136x88xbf16> loc("model.lua":2:49)
    mok.argument @args.shared_gate : tensor<?x200x136xbf16> loc("model.lua":2:92)
    mok.argument @args.shared_up : tensor<?x200x136xbf16> loc("model.lua":2:92)
    mok.argument @args.shared_down : tensor<?x136x200xbf16> loc("model.lua":2:92)
    mok.argument @args.out : tensor<?x136xbf16> loc("model.lua":2:35)
    mok.extent @mma_instances = 1 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.extent @row_pieces = 16 from("ceil(row_padding / dispatch_rows)") loc("model.lua":2:9)
    mok.extent @minibatch_blocks = 1 from("minibatch_rows / row_padding") loc("model.lua":2:9)
    mok.extent @shared_up_columns = 25 from("ceil(shared_intermediate / 8)") loc("model.lua":2:9)
    mok.extent @shared_down_columns = 3 from("ceil(hidden / 48)") loc("model.lua":2:9)
    mok.extent @up_columns = 11 from("ceil(intermediate / 8)") loc("model.lua":2:9)
    mok.extent @down_columns = 3 from("ceil(hidden / 48)") loc("model.lua":2:9)
    mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes(512) loc("model.lua":2:9)
    mok.region @x : memref<?x136xbf16> in(heap) at(512) bytes(17408) loc("model.lua":2:81)
    mok.region @route_offsets : memref<?xi32> in(heap) at(17920) bytes(24) loc("model.lua":2:81)
    mok.region @route_list : memref<?xi32> in(heap) at(18048) bytes(768) loc("model.lua":2:81)
    mok.region @combine : memref<?x136xbf16> in(heap) at(18816) bytes(52224) loc("model.lua":2:49)
    mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc("model.lua":2:9)
    mok.region @counters : memref<?x28xui32> in(local) at(1024) bytes(224) loc("model.lua":2:9)
    mok.region @expert_base : memref<?xi32> in(local) at(1280) bytes(16) loc("model.lua":2:81)
    mok.region @expert_rows : memref<?xi32> in(local) at(1536) bytes(12) loc("model.lua":2:81)
    mok.region @block_expert : memref<?xi32> in(local) at(1792) bytes(36) loc("model.lua":2:81)
    mok.region @row_source : memref<?x2xi32> in(local) at(2048) bytes(4608) loc("model.lua":2:81)
    mok.region @ring_x : memref<?x136xbf16> in(local) at(6656) bytes(17408) slot(row_block mod ring_slots) loc("model.lua":3:26)
    mok.region @ring_h : memref<?x88xbf16> in(local) at(24064) bytes(11264) slot(row_block mod ring_slots) loc("model.lua":2:49)
    mok.region @shared_h : memref<?x200xbf16> in(local) at(35328) bytes(25600) loc("model.lua":2:92)
    mok.region @shared_y : memref<?x136xbf16> in(local) at(60928) bytes(17408) loc("model.lua":2:92)
    mok.region @pipeline : memref<?x14336xi8> in(shared) at(0) bytes(86016) loc("model.lua":2:9)
    mok.region @slots : memref<?x272xi8> in(shared) at(0) bytes(8704) loc("model.lua":2:9)
    mok.region @slot_barriers : memref<?x8xi8> in(shared) at(8704) bytes(256) loc("model.lua":2:9)
    mok.region @staging : memref<?x56xbf16> in(shared) at(86016) bytes(7168) loc("model.lua":2:9)
    mok.region @barriers : memref<?x8xi8> in(shared) at(93184) bytes(96) loc("model.lua":2:9)
    mok.region @cta : memref<?xui32> in(shared) at(93312) bytes(256) loc("model.lua":2:9)
    mok.product @shared_up a(@args.x) b(@args.shared_gate, @args.shared_up) out(@shared_h) rows(token_block) depth(hidden) columns(shared_intermediate) epilogue(swiglu) clamp(1.500000e+00) tile(gate_up) m(64) n(16) k(64) stages(6) loc("model.lua":2:92)
    mok.product @shared_down a(@shared_h) b(@args.shared_down) out(@shared_y) rows(token_block) depth(shared_intermediate) columns(hidden) tile(down) m(64) n(48) k(64) stages(6) loc("model.lua":2:92)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) clamp(1.500000e+00) tile(gate_up) m(64) n(16) k(64) stages(6) loc("model.lua":2:49)
    mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden) tile(down) m(64) n(48) k(64) stages(6) loc("model.lua":2:49)
    mok.counter @x_ready per(row_block) word(0) words(9) target(row_pieces) loc("model.lua":3:26)
    mok.counter @h_ready per(row_block) word(9) words(9) target(up_columns * mma_instances) loc("model.lua":2:49)
    mok.counter @h_done per(row_block) word(18) words(9) target(down_columns * mma_instances) loc("model.lua":2:49)
    mok.counter @shared_h_ready per(token_block) word(27) words(1) target(shared_up_columns * mma_instances) loc("model.lua":2:92)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish over(once) {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:81)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier rank as routed loc("model.lua":2:81)
    } loc("model.lua":2:81)
    mok.phase @experts once(shared_up, shared_down) per_minibatch(dispatch, up, down) {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts over(once) {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier grid loc("model.lua":2:81)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows over(once) {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier grid loc("model.lua":2:81)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch over(row_block, piece) extent(row_pieces) {
            mok.wait @h_ready[row_block - ring_slots] >= up_columns * mma_instances edge(read_to_write) lap why("ring_x slot: every up task of the lap before has read it") loc("model.lua":3:26)
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
            mok.signal @x_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @shared_up over(column, token_block) extent(shared_up_columns) {
            mok.load @shared_up loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @shared_down over(column, token_block) extent(shared_down_columns) {
            mok.wait @shared_h_ready[token_block] >= shared_up_columns * mma_instances edge(bulk_to_bulk) why("shared_h: every shared_up task of the block has written it") loc("model.lua":2:92)
            mok.load @shared_down loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.wait @x_ready[row_block] >= row_pieces edge(bulk_to_bulk) why("ring_x: every dispatch task of the block has written it") loc("model.lua":2:49)
            mok.load @up loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.wait @h_ready[row_block] >= up_columns * mma_instances edge(bulk_to_bulk) why("ring_h: every up task of the block has written it") loc("model.lua":2:49)
            mok.load @down loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:81)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @shared_up over(column, token_block) extent(shared_up_columns) {
            mok.mma @shared_up loc("model.lua":2:92)
            mok.store @shared_up loc("model.lua":2:92)
            mok.signal @shared_h_ready[token_block] edge(bulk_to_bulk) loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @shared_down over(column, token_block) extent(shared_down_columns) {
            mok.mma @shared_down loc("model.lua":2:92)
            mok.store @shared_down loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.mma @up loc("model.lua":2:49)
            mok.wait @h_done[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap why("ring_h slot: every down task of the lap before has read it") loc("model.lua":2:49)
            mok.store @up loc("model.lua":2:49)
            mok.signal @h_ready[row_block] edge(bulk_to_bulk) loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.mma @down loc("model.lua":2:49)
            mok.store_pushed @down reads(@row_source) writes(@combine) loc("model.lua":2:49)
            mok.signal @h_done[row_block] edge(read_to_write) loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier rank as combined loc("model.lua":2:81)
    } loc("model.lua":2:81)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce over(token) {
            mok.reduce_token reads(@combine, @args.topk_weights, @shared_y) writes(@args.out) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
    } loc("model.lua":2:81)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
