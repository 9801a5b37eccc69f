module attributes {mok.after = "assign-roles", mok.plan = {given = {activation = loc("model.lua":2:113), experts = loc("model.lua":2:68), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:25), hidden = loc("model.lua":2:32), intermediate = loc("model.lua":2:47), name = loc("model.lua":2:9), shared_experts = loc("model.lua":2:93), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:82)}, gpu = "H20", model = {activation = "geglu", clamp = "nil", dtype = "bf16", experts = 64 : i64, hidden = 2048 : i64, intermediate = 1408 : i64, name = "decode-8xh20", shared_experts = 2 : i64, shared_intermediate = 2816 : i64, top_k = 6 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 1280 : i64, cluster = 1 : i64, combine_bytes = 344064 : i64, comm = 2 : i64, dispatch_bytes = 344064 : i64, dispatch_rows = 8 : i64, down_k = 64 : i64, down_m = 64 : i64, down_n = 80 : i64, down_stages = 8 : i64, expected_rows = 96 : i64, exposed_us = 1.334200e+01 : f64, forward_us = 1.145380e+02 : f64, gate_up_k = 64 : i64, gate_up_m = 64 : i64, gate_up_n = 80 : i64, gate_up_stages = 8 : i64, grid = 78 : i64, idle_permille = 171 : i64, local_bytes = 10785024 : i64, local_copy_bytes = 98304 : i64, memory_us = 5.424100e+01 : f64, minibatch_rows = 384 : i64, own_rows = 0 : i64, padded_rows = 512 : i64, products_us = 1.011960e+02 : f64, pull_warps = 8 : i64, push_warps = 0 : i64, readiness = 0 : i64, ring_bytes = 10616832 : i64, ring_rows = 1536 : i64, ring_slots = 24 : i64, roofline_us = 4.935300e+01 : f64, row_padding = 64 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 159104 : i64, slot_bytes = 4096 : i64, sms_comm = 1 : i64, sms_compute = 77 : i64, sms_reserved = 0 : i64, sms_total = 78 : i64, symmetric_bytes = 461568 : i64, threads = 256 : i64, two_wave_rows = 2496 : i64, warp_slots = 4 : i64, warps = 8 : i64, waves_down = 3 : i64, waves_gate_up = 3 : i64, weight_bytes = 173015040 : i64, wire_dedup = 0 : i64, wire_us = 2.085000e+00 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H20", sms = "auto"}, gpus = 8 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 16 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x2048xbf16> loc("model.lua":2:32)
    mok.argument @args.topk_ids : tensor<?x6xi32> loc("model.lua":2:82)
    mok.argument @args.topk_weights : tensor<?x6xf32> loc("model.lua":2:82)
    mok.argument @args.gate : tensor<?x1408x2048xbf16> loc("model.lua":2:47)
    mok.argument @args.up : tensor<?x1408x2048xbf16> loc("model.lua":2:47)
    mok.argument @args.down : tensor<?x2048x1408xbf16> loc("model.lua":2:47)
    mok.argument @args.shared_gate : tensor<?x2816x2048xbf16> loc("model.lua":2:93)
    mok.argument @args.shared_up : tensor<?x2816x2048xbf16> loc("model.lua":2:93)
    mok.argument @args.shared_down : tensor<?x2048x2816xbf16> loc("model.lua":2:93)
    mok.argument @args.out : tensor<?x2048xbf16> loc("model.lua":2:32)
    mok.extent @mma_instances = 1 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.region @route_offsets : memref<?xi32> loc("model.lua":2:82)
    mok.region @route_list : memref<?xi32> loc("model.lua":2:82)
    mok.region @expert_base : memref<?xi32> loc("model.lua":2:82)
    mok.region @expert_rows : memref<?xi32> loc("model.lua":2:82)
    mok.region @block_expert : memref<?xi32> loc("model.lua":2:82)
    mok.region @row_source : memref<?x2xi32> loc("model.lua":2:82)
    mok.region @x : memref<?x2048xbf16> loc("model.lua":2:82)
    mok.region @shared_h : memref<?x2816xbf16> loc("model.lua":2:93)
    mok.region @shared_y : memref<?x2048xbf16> loc("model.lua":2:93)
    mok.region @ring_x : memref<?x2048xbf16> loc("model.lua":3:25)
    mok.region @ring_h : memref<?x1408xbf16> loc("model.lua":2:47)
    mok.region @combine : memref<?x2048xbf16> loc("model.lua":2:47)
    mok.product @shared_up a(@args.x) b(@args.shared_gate, @args.shared_up) out(@shared_h) rows(token_block) depth(hidden) columns(shared_intermediate) epilogue(geglu) loc("model.lua":2:93)
    mok.product @shared_down a(@shared_h) b(@args.shared_down) out(@shared_y) rows(token_block) depth(shared_intermediate) columns(hidden) loc("model.lua":2:93)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(geglu) loc("model.lua":2:47)
    mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden) loc("model.lua":2:47)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:82)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:82)
          } loc("model.lua":2:82)
        } loc("model.lua":2:82)
      } loc("model.lua":2:82)
      mok.barrier rank as routed loc("model.lua":2:82)
    } loc("model.lua":2:82)
    mok.phase @experts {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:82)
          } loc("model.lua":2:82)
        } loc("model.lua":2:82)
      } loc("model.lua":2:82)
      mok.barrier grid loc("model.lua":2:82)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:82)
          } loc("model.lua":2:82)
        } loc("model.lua":2:82)
      } loc("model.lua":2:82)
      mok.barrier grid loc("model.lua":2:82)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch {
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:25)
          } loc("model.lua":3:25)
        } loc("model.lua":2:82)
      } loc("model.lua":2:82)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @shared_up {
            mok.load @shared_up loc("model.lua":2:93)
          } loc("model.lua":2:93)
          mok.task @shared_down {
            mok.load @shared_down loc("model.lua":2:93)
          } loc("model.lua":2:93)
          mok.task @up {
            mok.load @up loc("model.lua":2:47)
          } loc("model.lua":2:47)
          mok.task @down {
            mok.load @down loc("model.lua":2:47)
          } loc("model.lua":2:47)
        } loc("model.lua":2:82)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @shared_up {
            mok.mma @shared_up loc("model.lua":2:93)
            mok.store @shared_up loc("model.lua":2:93)
          } loc("model.lua":2:93)
          mok.task @shared_down {
            mok.mma @shared_down loc("model.lua":2:93)
            mok.store @shared_down loc("model.lua":2:93)
          } loc("model.lua":2:93)
          mok.task @up {
            mok.mma @up loc("model.lua":2:47)
            mok.store @up loc("model.lua":2:47)
          } loc("model.lua":2:47)
          mok.task @down {
            mok.mma @down loc("model.lua":2:47)
            mok.store_pushed @down reads(@row_source) writes(@combine) loc("model.lua":2:47)
          } loc("model.lua":2:47)
        } loc("model.lua":2:82)
      } loc("model.lua":2:82)
      mok.barrier rank as combined loc("model.lua":2:82)
    } loc("model.lua":2:82)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce {
            mok.reduce_token reads(@combine, @args.topk_weights, @shared_y) writes(@args.out) loc("model.lua":2:82)
          } loc("model.lua":2:82)
        } loc("model.lua":2:82)
      } loc("model.lua":2:82)
    } loc("model.lua":2:82)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
