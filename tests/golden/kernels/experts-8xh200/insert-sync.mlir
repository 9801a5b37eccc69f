module attributes {mok.after = "insert-sync", mok.plan = {given = {clamp = loc("model.lua":2:96), experts = loc("model.lua":2:69), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:34), intermediate = loc("model.lua":2:49), minibatch_rows = loc("model.lua":5:30), name = loc("model.lua":2:9), ring_rows = loc("model.lua":5:12), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:84)}, gpu = "H200", model = {activation = "swiglu", clamp = 7.000000e+00 : f64, dtype = "bf16", experts = 500 : i64, hidden = 3072 : i64, intermediate = 512 : i64, name = "experts-8xh200", shared_experts = 0 : i64, shared_intermediate = 0 : i64, top_k = 10 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 335744 : i64, cluster = 1 : i64, combine_bytes = 221964288 : i64, comm = 0 : i64, dispatch_bytes = 221964288 : i64, dispatch_rows = 4 : i64, down_k = 64 : i64, down_m = 128 : i64, down_n = 256 : i64, down_stages = 4 : i64, expected_rows = 41288 : i64, exposed_us = 1.184380e+02 : f64, forward_us = 1525.327 : f64, gate_up_k = 64 : i64, gate_up_m = 128 : i64, gate_up_n = 256 : i64, gate_up_stages = 4 : i64, grid = 132 : i64, idle_permille = 818 : i64, local_bytes = 30044928 : i64, local_copy_bytes = 63418368 : i64, memory_us = 7.815780e+02 : f64, minibatch_rows = 512 : i64, own_rows = 0 : i64, padded_rows = 45312 : i64, products_us = 879.92899999999997 : f64, pull_warps = 6 : i64, push_warps = 6 : i64, readiness = 0 : i64, ring_bytes = 27262976 : i64, ring_rows = 2048 : i64, ring_slots = 16 : i64, roofline_us = 1339.895 : f64, row_padding = 128 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 231808 : i64, slot_bytes = 3072 : i64, sms_comm = 19 : i64, sms_compute = 113 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 276992000 : i64, threads = 384 : i64, two_wave_rows = 8448 : i64, warp_slots = 4 : i64, warps = 12 : i64, waves_down = 1 : i64, waves_gate_up = 1 : i64, weight_bytes = 594542592 : i64, wire_dedup = 0 : i64, wire_us = 1339.895 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = 512 : i64, own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = 2048 : i64, stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H200", sms = "auto"}, gpus = 8 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 4096 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x3072xbf16> loc("model.lua":2:34)
    mok.argument @args.topk_ids : tensor<?x10xi32> loc("model.lua":2:84)
    mok.argument @args.topk_weights : tensor<?x10xf32> loc("model.lua":2:84)
    mok.argument @args.gate : tensor<?x512x3072xbf16> loc("model.lua":2:49)
    mok.argument @args.up : tensor<?x512x3072xbf16> loc("model.lua":2:49)
    mok.argument @args.down : tensor<?x3072x512xbf16> loc("model.lua":2:49)
    mok.argument @args.out : tensor<?x3072xbf16> loc("model.lua":2:34)
    mok.extent @mma_instances = 2 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.extent @row_pieces = 32 from("ceil(row_padding / dispatch_rows)") loc("model.lua":2:9)
    mok.extent @minibatch_blocks = 4 from("minibatch_rows / row_padding") loc("model.lua":2:9)
    mok.extent @up_columns = 4 from("ceil(intermediate / 128)") loc("model.lua":2:9)
    mok.extent @down_columns = 12 from("ceil(hidden / 256)") loc("model.lua":2:9)
    mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes(2048) loc("model.lua":2:9)
    mok.region @x : memref<?x3072xbf16> in(heap) at(2048) bytes(25165824) loc("model.lua":2:84)
    mok.region @route_offsets : memref<?xi32> in(heap) at(25167872) bytes(2004) loc("model.lua":2:84)
    mok.region @route_list : memref<?xi32> in(heap) at(25169920) bytes(163840) loc("model.lua":2:84)
    mok.region @combine : memref<?x3072xbf16> in(heap) at(25333760) bytes(251658240) loc("model.lua":3:26)
    mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc("model.lua":2:9)
    mok.region @counters : memref<?x10492xui32> in(local) at(1024) bytes(83936) loc("model.lua":2:9)
    mok.region @expert_base : memref<?xi32> in(local) at(84992) bytes(256) loc("model.lua":2:84)
    mok.region @expert_rows : memref<?xi32> in(local) at(85248) bytes(252) loc("model.lua":2:84)
    mok.region @block_expert : memref<?xi32> in(local) at(85504) bytes(10492) loc("model.lua":2:84)
    mok.region @row_source : memref<?x2xi32> in(local) at(96000) bytes(2685952) loc("model.lua":2:84)
    mok.region @ring_x : memref<?x3072xbf16> in(local) at(2781952) bytes(12582912) slot(row_block mod ring_slots) loc("model.lua":3:26)
    mok.region @ring_h : memref<?x512xbf16> in(local) at(15364864) bytes(2097152) slot(row_block mod ring_slots) loc("model.lua":2:49)
    mok.region @ring_y : memref<?x3072xbf16> in(local) at(17462016) bytes(12582912) slot(row_block mod ring_slots) loc("model.lua":2:49)
    mok.region @pipeline : memref<?x49152xi8> in(shared) at(0) bytes(196608) loc("model.lua":2:9)
    mok.region @slots : memref<?x3072xi8> in(shared) at(0) bytes(147456) loc("model.lua":2:9)
    mok.region @slot_barriers : memref<?x8xi8> in(shared) at(147456) bytes(384) loc("model.lua":2:9)
    mok.region @staging : memref<?x136xbf16> in(shared) at(196608) bytes(34816) loc("model.lua":2:9)
    mok.region @barriers : memref<?x8xi8> in(shared) at(231424) bytes(64) loc("model.lua":2:9)
    mok.region @cta : memref<?xui32> in(shared) at(231552) bytes(256) loc("model.lua":2:9)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) clamp(7.000000e+00) tile(gate_up) m(128) n(256) k(64) stages(4) loc("model.lua":2:49)
    mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden) tile(down) m(128) n(256) k(64) stages(4) loc("model.lua":2:49)
    mok.counter @x_ready per(row_block) word(0) words(2623) target(row_pieces) loc("model.lua":3:26)
    mok.counter @h_ready per(row_block) word(2623) words(2623) target(up_columns * mma_instances) loc("model.lua":2:49)
    mok.counter @y_ready per(row_block) word(5246) words(2623) target(down_columns * mma_instances) loc("model.lua":2:49)
    mok.counter @y_done per(row_block) word(7869) words(2623) target(row_pieces) loc("model.lua":3:26)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish over(once) {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:84)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier rank as routed loc("model.lua":2:84)
    } loc("model.lua":2:84)
    mok.phase @experts per_minibatch(dispatch, up, down, combine) ahead(dispatch, up) {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts over(once) {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier grid loc("model.lua":2:84)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows over(once) {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier grid loc("model.lua":2:84)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch over(row_block, piece) extent(row_pieces) {
            mok.wait @h_ready[row_block - ring_slots] >= up_columns * mma_instances edge(read_to_write) lap why("ring_x slot: every up task of the lap before has read it") loc("model.lua":3:26)
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
            mok.signal @x_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:84)
        mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance) {
          mok.task @combine over(row_block, piece) extent(row_pieces) {
            mok.wait @y_ready[row_block] >= down_columns * mma_instances edge(bulk_to_bulk) why("ring_y: every down task of the block has written it") loc("model.lua":3:26)
            mok.push reads(@row_source, @ring_y) writes(@combine) loc("model.lua":3:26)
            mok.signal @y_done[row_block] edge(read_to_write) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.wait @x_ready[row_block] >= row_pieces edge(bulk_to_bulk) why("ring_x: every dispatch task of the block has written it") loc("model.lua":2:49)
            mok.load @up loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.wait @h_ready[row_block] >= up_columns * mma_instances edge(bulk_to_bulk) why("ring_h: every up task of the block has written it") loc("model.lua":2:49)
            mok.load @down loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:84)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.mma @up loc("model.lua":2:49)
            mok.wait @y_ready[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap why("ring_h slot: every down task of the lap before has read it") loc("model.lua":2:49)
            mok.store @up loc("model.lua":2:49)
            mok.signal @h_ready[row_block] edge(bulk_to_bulk) loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.mma @down loc("model.lua":2:49)
            mok.wait @y_done[row_block - ring_slots] >= row_pieces edge(read_to_write) lap why("ring_y slot: every combine task of the lap before has read it") loc("model.lua":2:49)
            mok.store @down loc("model.lua":2:49)
            mok.signal @y_ready[row_block] edge(bulk_to_bulk) loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier rank as combined loc("model.lua":2:84)
    } loc("model.lua":2:84)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce over(token) {
            mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
    } loc("model.lua":2:84)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
