module attributes {mok.after = "insert-sync", mok.plan = {given = {comm = loc("model.lua":6:31), experts = loc("model.lua":3:36), gpu = loc("model.lua":4:12), gpus = loc("model.lua":4:26), hidden = loc("model.lua":3:7), intermediate = loc("model.lua":3:7), name = loc("model.lua":3:14), own_rows = loc("model.lua":6:12), shared_experts = loc("model.lua":3:7), tokens_per_gpu = loc("model.lua":5:12), top_k = loc("model.lua":3:7)}, gpu = "H200", model = {activation = "swiglu", clamp = "nil", dtype = "bf16", experts = 16 : i64, hidden = 7168 : i64, intermediate = 2048 : i64, name = "copy-1xh200", shared_experts = 1 : i64, shared_intermediate = 2048 : i64, top_k = 8 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 18432 : i64, cluster = 2 : i64, combine_bytes = 0 : i64, comm = 0 : i64, dispatch_bytes = 0 : i64, dispatch_rows = 8 : i64, down_k = 64 : i64, down_m = 128 : i64, down_n = 256 : i64, down_stages = 4 : i64, expected_rows = 16384 : i64, exposed_us = 1.575000e+02 : f64, forward_us = 2797.2109999999998 : f64, gate_up_k = 64 : i64, gate_up_m = 128 : i64, gate_up_n = 256 : i64, gate_up_stages = 4 : i64, grid = 132 : i64, idle_permille = 82 : i64, local_bytes = 407002112 : i64, local_copy_bytes = 469762048 : i64, memory_us = 915.91899999999998 : f64, minibatch_rows = 2816 : i64, own_rows = 0 : i64, padded_rows = 17408 : i64, products_us = 2639.7109999999998 : f64, pull_warps = 6 : i64, push_warps = 6 : i64, readiness = 0 : i64, ring_bytes = 369098752 : i64, ring_rows = 11264 : i64, ring_slots = 88 : i64, roofline_us = 2076.0839999999998 : f64, row_padding = 128 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 231808 : i64, slot_bytes = 3584 : i64, sms_comm = 10 : i64, sms_compute = 122 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 234947072 : i64, threads = 384 : i64, two_wave_rows = 2112 : i64, warp_slots = 4 : i64, warps = 12 : i64, waves_down = 6 : i64, waves_gate_up = 3 : i64, weight_bytes = 1497366528 : i64, wire_dedup = 0 : i64, wire_us = 0.000000e+00 : f64}, schedule = {cluster = "auto", comm = "sms", comm_sms = "auto", minibatch_rows = "auto", own_rows = "copy", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H200", sms = "auto"}, gpus = 1 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 2048 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x7168xbf16> loc("model.lua":3:7)
    mok.argument @args.topk_ids : tensor<?x8xi32> loc("model.lua":3:7)
    mok.argument @args.topk_weights : tensor<?x8xf32> loc("model.lua":3:7)
    mok.argument @args.gate : tensor<?x2048x7168xbf16> loc("model.lua":3:7)
    mok.argument @args.up : tensor<?x2048x7168xbf16> loc("model.lua":3:7)
    mok.argument @args.down : tensor<?x7168x2048xbf16> loc("model.lua":3:7)
    mok.argument @args.shared_gate : tensor<?x2048x7168xbf16> loc("model.lua":3:7)
    mok.argument @args.shared_up : tensor<?x2048x7168xbf16> loc("model.lua":3:7)
    mok.argument @args.shared_down : tensor<?x7168x2048xbf16> loc("model.lua":3:7)
    mok.argument @args.out : tensor<?x7168xbf16> loc("model.lua":3:7)
    mok.extent @mma_instances = 2 from("threads / 128 - 1") loc("model.lua":3:14)
    mok.extent @row_pieces = 16 from("ceil(row_padding / dispatch_rows)") loc("model.lua":3:14)
    mok.extent @minibatch_blocks = 22 from("minibatch_rows / row_padding") loc("model.lua":3:14)
    mok.extent @shared_up_columns = 16 from("ceil(shared_intermediate / 128)") loc("model.lua":3:14)
    mok.extent @shared_down_columns = 28 from("ceil(hidden / 256)") loc("model.lua":3:14)
    mok.extent @up_columns = 16 from("ceil(intermediate / 128)") loc("model.lua":3:14)
    mok.extent @down_columns = 28 from("ceil(hidden / 256)") loc("model.lua":3:14)
    mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes(256) loc("model.lua":3:14)
    mok.region @route_offsets : memref<?xi32> in(heap) at(256) bytes(68) loc("model.lua":3:7)
    mok.region @route_list : memref<?xi32> in(heap) at(384) bytes(65536) loc("model.lua":3:7)
    mok.region @combine : memref<?x7168xbf16> in(heap) at(65920) bytes(234881024) loc("model.lua":4:26)
    mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc("model.lua":3:14)
    mok.region @counters : memref<?x592xui32> in(local) at(1024) bytes(4736) loc("model.lua":3:14)
    mok.region @expert_base : memref<?xi32> in(local) at(5888) bytes(68) loc("model.lua":3:7)
    mok.region @expert_rows : memref<?xi32> in(local) at(6144) bytes(64) loc("model.lua":3:7)
    mok.region @block_expert : memref<?xi32> in(local) at(6400) bytes(576) loc("model.lua":3:7)
    mok.region @row_source : memref<?x2xi32> in(local) at(7168) bytes(147456) loc("model.lua":3:7)
    mok.region @ring_x : memref<?x7168xbf16> in(local) at(154624) bytes(161480704) slot(row_block mod ring_slots) loc("model.lua":4:26)
    mok.region @ring_h : memref<?x2048xbf16> in(local) at(161635328) bytes(46137344) slot(row_block mod ring_slots) loc("model.lua":3:7)
    mok.region @ring_y : memref<?x7168xbf16> in(local) at(207772672) bytes(161480704) slot(row_block mod ring_slots) loc("model.lua":3:7)
    mok.region @shared_h : memref<?x2048xbf16> in(local) at(369253376) bytes(8388608) loc("model.lua":3:7)
    mok.region @shared_y : memref<?x7168xbf16> in(local) at(377641984) bytes(29360128) loc("model.lua":3:7)
    mok.region @pipeline : memref<?x49152xi8> in(shared) at(0) bytes(196608) loc("model.lua":3:14)
    mok.region @slots : memref<?x3584xi8> in(shared) at(0) bytes(172032) loc("model.lua":3:14)
    mok.region @slot_barriers : memref<?x8xi8> in(shared) at(172032) bytes(384) loc("model.lua":3:14)
    mok.region @staging : memref<?x136xbf16> in(shared) at(196608) bytes(34816) loc("model.lua":3:14)
    mok.region @barriers : memref<?x8xi8> in(shared) at(231424) bytes(64) loc("model.lua":3:14)
    mok.region @cta : memref<?xui32> in(shared) at(231552) bytes(256) loc("model.lua":3:14)
    mok.product @shared_up a(@args.x) b(@args.shared_gate, @args.shared_up) out(@shared_h) rows(token_block) depth(hidden) columns(shared_intermediate) epilogue(swiglu) tile(gate_up) m(128) n(256) k(64) stages(4) loc("model.lua":3:7)
    mok.product @shared_down a(@shared_h) b(@args.shared_down) out(@shared_y) rows(token_block) depth(shared_intermediate) columns(hidden) tile(down) m(128) n(256) k(64) stages(4) loc("model.lua":3:7)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) tile(gate_up) m(128) n(256) k(64) stages(4) loc("model.lua":3:7)
    mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden) tile(down) m(128) n(256) k(64) stages(4) loc("model.lua":3:7)
    mok.counter @x_ready per(row_block) word(0) words(144) target(row_pieces) loc("model.lua":4:26)
    mok.counter @h_ready per(row_block) word(144) words(144) target(up_columns * mma_instances) loc("model.lua":3:7)
    mok.counter @y_ready per(row_block) word(288) words(144) target(down_columns * mma_instances) loc("model.lua":3:7)
    mok.counter @y_done per(row_block) word(432) words(144) target(row_pieces) loc("model.lua":4:26)
    mok.counter @shared_h_ready per(token_block) word(576) words(16) target(shared_up_columns * mma_instances) loc("model.lua":3:7)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish over(once) {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier rank as routed loc("model.lua":3:7)
    } loc("model.lua":3:7)
    mok.phase @experts once(shared_up, shared_down) per_minibatch(dispatch, up, down, combine) ahead(dispatch, up) {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts over(once) {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier grid loc("model.lua":3:7)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows over(once) {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier grid loc("model.lua":3:7)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch over(row_block, piece) extent(row_pieces) {
            mok.wait @h_ready[row_block - ring_slots] >= up_columns * mma_instances edge(read_to_write) lap why("ring_x slot: every up task of the lap before has read it") loc("model.lua":4:26)
            mok.pull reads(@row_source, @args.x) writes(@ring_x) loc("model.lua":4:26)
            mok.signal @x_ready[row_block] edge(bulk_to_bulk) loc("model.lua":4:26)
          } loc("model.lua":4:26)
        } loc("model.lua":3:7)
        mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance) {
          mok.task @combine over(row_block, piece) extent(row_pieces) {
            mok.wait @y_ready[row_block] >= down_columns * mma_instances edge(bulk_to_bulk) why("ring_y: every down task of the block has written it") loc("model.lua":4:26)
            mok.push reads(@row_source, @ring_y) writes(@combine) loc("model.lua":4:26)
            mok.signal @y_done[row_block] edge(read_to_write) loc("model.lua":4:26)
          } loc("model.lua":4:26)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.role @compute ctas(sms_compute) cluster(2) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @shared_up over(column, token_block) extent(shared_up_columns) {
            mok.load @shared_up loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @shared_down over(column, token_block) extent(shared_down_columns) {
            mok.wait @shared_h_ready[token_block] >= shared_up_columns * mma_instances edge(bulk_to_bulk) why("shared_h: every shared_up task of the block has written it") loc("model.lua":3:7)
            mok.load @shared_down loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.wait @x_ready[row_block] >= row_pieces edge(bulk_to_bulk) why("ring_x: every dispatch task of the block has written it") loc("model.lua":3:7)
            mok.load @up loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.wait @h_ready[row_block] >= up_columns * mma_instances edge(bulk_to_bulk) why("ring_h: every up task of the block has written it") loc("model.lua":3:7)
            mok.load @down loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @shared_up over(column, token_block) extent(shared_up_columns) {
            mok.mma @shared_up loc("model.lua":3:7)
            mok.store @shared_up loc("model.lua":3:7)
            mok.signal @shared_h_ready[token_block] edge(bulk_to_bulk) loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @shared_down over(column, token_block) extent(shared_down_columns) {
            mok.mma @shared_down loc("model.lua":3:7)
            mok.store @shared_down loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.mma @up loc("model.lua":3:7)
            mok.wait @y_ready[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap why("ring_h slot: every down task of the lap before has read it") loc("model.lua":3:7)
            mok.store @up loc("model.lua":3:7)
            mok.signal @h_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.mma @down loc("model.lua":3:7)
            mok.wait @y_done[row_block - ring_slots] >= row_pieces edge(read_to_write) lap why("ring_y slot: every combine task of the lap before has read it") loc("model.lua":3:7)
            mok.store @down loc("model.lua":3:7)
            mok.signal @y_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier rank as combined loc("model.lua":3:7)
    } loc("model.lua":3:7)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce over(token) {
            mok.reduce_token reads(@combine, @args.topk_weights, @shared_y) writes(@args.out) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
    } loc("model.lua":3:7)
  } loc("model.lua":3:14)
} loc("model.lua":3:14)
