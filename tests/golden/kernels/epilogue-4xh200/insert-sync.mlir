module attributes {mok.after = "insert-sync", mok.plan = {given = {comm = loc("model.lua":5:12), experts = loc("model.lua":2:71), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:35), intermediate = loc("model.lua":2:50), name = loc("model.lua":2:9), ring_rows = loc("model.lua":5:31), shared_experts = loc("model.lua":2:96), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:85)}, gpu = "H200", model = {activation = "swiglu", clamp = "nil", dtype = "bf16", experts = 30 : i64, hidden = 4096 : i64, intermediate = 1536 : i64, name = "epilogue-4xh200", shared_experts = 1 : i64, shared_intermediate = 1536 : i64, top_k = 4 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 33792 : i64, cluster = 2 : i64, combine_bytes = 53690368 : i64, comm = 2 : i64, dispatch_bytes = 53690368 : i64, dispatch_rows = 8 : i64, down_k = 64 : i64, down_m = 128 : i64, down_n = 256 : i64, down_stages = 4 : i64, expected_rows = 8739 : i64, exposed_us = 7.122000e+01 : f64, forward_us = 7.900900e+02 : f64, gate_up_k = 64 : i64, gate_up_m = 128 : i64, gate_up_n = 192 : i64, gate_up_stages = 4 : i64, grid = 132 : i64, idle_permille = 0 : i64, local_bytes = 69485824 : i64, local_copy_bytes = 35799040 : i64, memory_us = 2.694890e+02 : f64, minibatch_rows = 2048 : i64, own_rows = 0 : i64, padded_rows = 9344 : i64, products_us = 718.87099999999998 : f64, pull_warps = 12 : i64, push_warps = 0 : i64, readiness = 0 : i64, ring_bytes = 46137344 : i64, ring_rows = 4096 : i64, ring_slots = 32 : i64, roofline_us = 5.207110e+02 : f64, row_padding = 128 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 231808 : i64, slot_bytes = 4096 : i64, sms_comm = 4 : i64, sms_compute = 128 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 83920128 : i64, threads = 384 : i64, two_wave_rows = 2816 : i64, warp_slots = 4 : i64, warps = 12 : i64, waves_down = 2 : i64, waves_gate_up = 2 : i64, weight_bytes = 339738624 : i64, wire_dedup = 0 : i64, wire_us = 3.152180e+02 : f64}, schedule = {cluster = "auto", comm = "epilogue", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = 4096 : i64, stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H200", sms = "auto"}, gpus = 4 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 2048 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x4096xbf16> loc("model.lua":2:35)
    mok.argument @args.topk_ids : tensor<?x4xi32> loc("model.lua":2:85)
    mok.argument @args.topk_weights : tensor<?x4xf32> loc("model.lua":2:85)
    mok.argument @args.gate : tensor<?x1536x4096xbf16> loc("model.lua":2:50)
    mok.argument @args.up : tensor<?x1536x4096xbf16> loc("model.lua":2:50)
    mok.argument @args.down : tensor<?x4096x1536xbf16> loc("model.lua":2:50)
    mok.argument @args.shared_gate : tensor<?x1536x4096xbf16> loc("model.lua":2:96)
    mok.argument @args.shared_up : tensor<?x1536x4096xbf16> loc("model.lua":2:96)
    mok.argument @args.shared_down : tensor<?x4096x1536xbf16> loc("model.lua":2:96)
    mok.argument @args.out : tensor<?x4096xbf16> loc("model.lua":2:35)
    mok.extent @mma_instances = 2 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.extent @row_pieces = 16 from("ceil(row_padding / dispatch_rows)") loc("model.lua":2:9)
    mok.extent @minibatch_blocks = 16 from("minibatch_rows / row_padding") loc("model.lua":2:9)
    mok.extent @shared_up_columns = 16 from("ceil(shared_intermediate / 96)") loc("model.lua":2:9)
    mok.extent @shared_down_columns = 16 from("ceil(hidden / 256)") loc("model.lua":2:9)
    mok.extent @up_columns = 16 from("ceil(intermediate / 96)") loc("model.lua":2:9)
    mok.extent @down_columns = 16 from("ceil(hidden / 256)") loc("model.lua":2:9)
    mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes(1024) loc("model.lua":2:9)
    mok.region @x : memref<?x4096xbf16> in(heap) at(1024) bytes(16777216) loc("model.lua":2:85)
    mok.region @route_offsets : memref<?xi32> in(heap) at(16778240) bytes(124) loc("model.lua":2:85)
    mok.region @route_list : memref<?xi32> in(heap) at(16778368) bytes(32768) loc("model.lua":2:85)
    mok.region @combine : memref<?x4096xbf16> in(heap) at(16811136) bytes(67108864) loc("model.lua":2:50)
    mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc("model.lua":2:9)
    mok.region @counters : memref<?x808xui32> in(local) at(1024) bytes(6464) loc("model.lua":2:9)
    mok.region @expert_base : memref<?xi32> in(local) at(7680) bytes(36) loc("model.lua":2:85)
    mok.region @expert_rows : memref<?xi32> in(local) at(7936) bytes(32) loc("model.lua":2:85)
    mok.region @block_expert : memref<?xi32> in(local) at(8192) bytes(1056) loc("model.lua":2:85)
    mok.region @row_source : memref<?x2xi32> in(local) at(9472) bytes(270336) loc("model.lua":2:85)
    mok.region @ring_x : memref<?x4096xbf16> in(local) at(279808) bytes(33554432) slot(row_block mod ring_slots) loc("model.lua":3:26)
    mok.region @ring_h : memref<?x1536xbf16> in(local) at(33834240) bytes(12582912) slot(row_block mod ring_slots) loc("model.lua":2:50)
    mok.region @shared_h : memref<?x1536xbf16> in(local) at(46417152) bytes(6291456) loc("model.lua":2:96)
    mok.region @shared_y : memref<?x4096xbf16> in(local) at(52708608) bytes(16777216) loc("model.lua":2:96)
    mok.region @pipeline : memref<?x49152xi8> in(shared) at(0) bytes(196608) loc("model.lua":2:9)
    mok.region @slots : memref<?x4096xi8> in(shared) at(0) bytes(196608) loc("model.lua":2:9)
    mok.region @staging : memref<?x136xbf16> in(shared) at(196608) bytes(34816) loc("model.lua":2:9)
    mok.region @slot_barriers : memref<?x8xi8> in(shared) at(196608) bytes(384) loc("model.lua":2:9)
    mok.region @barriers : memref<?x8xi8> in(shared) at(231424) bytes(64) loc("model.lua":2:9)
    mok.region @cta : memref<?xui32> in(shared) at(231552) bytes(256) loc("model.lua":2:9)
    mok.product @shared_up a(@args.x) b(@args.shared_gate, @args.shared_up) out(@shared_h) rows(token_block) depth(hidden) columns(shared_intermediate) epilogue(swiglu) tile(gate_up) m(128) n(192) k(64) stages(4) loc("model.lua":2:96)
    mok.product @shared_down a(@shared_h) b(@args.shared_down) out(@shared_y) rows(token_block) depth(shared_intermediate) columns(hidden) tile(down) m(128) n(256) k(64) stages(4) loc("model.lua":2:96)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) tile(gate_up) m(128) n(192) k(64) stages(4) loc("model.lua":2:50)
    mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden) tile(down) m(128) n(256) k(64) stages(4) loc("model.lua":2:50)
    mok.counter @x_ready per(row_block) word(0) words(264) target(row_pieces) loc("model.lua":3:26)
    mok.counter @h_ready per(row_block) word(264) words(264) target(up_columns * mma_instances) loc("model.lua":2:50)
    mok.counter @h_done per(row_block) word(528) words(264) target(down_columns * mma_instances) loc("model.lua":2:50)
    mok.counter @shared_h_ready per(token_block) word(792) words(16) target(shared_up_columns * mma_instances) loc("model.lua":2:96)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish over(once) {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:85)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:85)
          } loc("model.lua":2:85)
        } loc("model.lua":2:85)
      } loc("model.lua":2:85)
      mok.barrier rank as routed loc("model.lua":2:85)
    } loc("model.lua":2:85)
    mok.phase @experts once(shared_up, shared_down) per_minibatch(dispatch, up, down) {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts over(once) {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:85)
          } loc("model.lua":2:85)
        } loc("model.lua":2:85)
      } loc("model.lua":2:85)
      mok.barrier grid loc("model.lua":2:85)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows over(once) {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:85)
          } loc("model.lua":2:85)
        } loc("model.lua":2:85)
      } loc("model.lua":2:85)
      mok.barrier grid loc("model.lua":2:85)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch over(row_block, piece) extent(row_pieces) {
            mok.wait @h_ready[row_block - ring_slots] >= up_columns * mma_instances edge(read_to_write) lap why("ring_x slot: every up task of the lap before has read it") loc("model.lua":3:26)
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
            mok.signal @x_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:85)
      } loc("model.lua":2:85)
      mok.role @compute ctas(sms_compute) cluster(2) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @shared_up over(column, token_block) extent(shared_up_columns) {
            mok.load @shared_up loc("model.lua":2:96)
          } loc("model.lua":2:96)
          mok.task @shared_down over(column, token_block) extent(shared_down_columns) {
            mok.wait @shared_h_ready[token_block] >= shared_up_columns * mma_instances edge(bulk_to_bulk) why("shared_h: every shared_up task of the block has written it") loc("model.lua":2:96)
            mok.load @shared_down loc("model.lua":2:96)
          } loc("model.lua":2:96)
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.wait @x_ready[row_block] >= row_pieces edge(bulk_to_bulk) why("ring_x: every dispatch task of the block has written it") loc("model.lua":2:50)
            mok.load @up loc("model.lua":2:50)
          } loc("model.lua":2:50)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.wait @h_ready[row_block] >= up_columns * mma_instances edge(bulk_to_bulk) why("ring_h: every up task of the block has written it") loc("model.lua":2:50)
            mok.load @down loc("model.lua":2:50)
          } loc("model.lua":2:50)
        } loc("model.lua":2:85)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @shared_up over(column, token_block) extent(shared_up_columns) {
            mok.mma @shared_up loc("model.lua":2:96)
            mok.store @shared_up loc("model.lua":2:96)
            mok.signal @shared_h_ready[token_block] edge(bulk_to_bulk) loc("model.lua":2:96)
          } loc("model.lua":2:96)
          mok.task @shared_down over(column, token_block) extent(shared_down_columns) {
            mok.mma @shared_down loc("model.lua":2:96)
            mok.store @shared_down loc("model.lua":2:96)
          } loc("model.lua":2:96)
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.mma @up loc("model.lua":2:50)
            mok.wait @h_done[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap why("ring_h slot: every down task of the lap before has read it") loc("model.lua":2:50)
            mok.store @up loc("model.lua":2:50)
            mok.signal @h_ready[row_block] edge(bulk_to_bulk) loc("model.lua":2:50)
          } loc("model.lua":2:50)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.mma @down loc("model.lua":2:50)
            mok.store_pushed @down reads(@row_source) writes(@combine) loc("model.lua":2:50)
            mok.signal @h_done[row_block] edge(read_to_write) loc("model.lua":2:50)
          } loc("model.lua":2:50)
        } loc("model.lua":2:85)
      } loc("model.lua":2:85)
      mok.barrier rank as combined loc("model.lua":2:85)
    } loc("model.lua":2:85)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce over(token) {
            mok.reduce_token reads(@combine, @args.topk_weights, @shared_y) writes(@args.out) loc("model.lua":2:85)
          } loc("model.lua":2:85)
        } loc("model.lua":2:85)
      } loc("model.lua":2:85)
    } loc("model.lua":2:85)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
