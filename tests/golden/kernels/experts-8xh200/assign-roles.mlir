module attributes {mok.after = "assign-roles", mok.plan = {given = {clamp = loc("model.lua":2:96), experts = loc("model.lua":2:69), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:34), intermediate = loc("model.lua":2:49), minibatch_rows = loc("model.lua":5:30), name = loc("model.lua":2:9), ring_rows = loc("model.lua":5:12), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:84)}, gpu = "H200", model = {activation = "swiglu", clamp = 7.000000e+00 : f64, dtype = "bf16", experts = 500 : i64, hidden = 3072 : i64, intermediate = 512 : i64, name = "experts-8xh200", shared_experts = 0 : i64, shared_intermediate = 0 : i64, top_k = 10 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 335744 : i64, cluster = 1 : i64, combine_bytes = 221964288 : i64, comm = 0 : i64, dispatch_bytes = 221964288 : i64, dispatch_rows = 4 : i64, down_k = 64 : i64, down_m = 128 : i64, down_n = 256 : i64, down_stages = 4 : i64, expected_rows = 41288 : i64, exposed_us = 1.184380e+02 : f64, forward_us = 1525.327 : f64, gate_up_k = 64 : i64, gate_up_m = 128 : i64, gate_up_n = 256 : i64, gate_up_stages = 4 : i64, grid = 132 : i64, idle_permille = 818 : i64, local_bytes = 30044928 : i64, local_copy_bytes = 63418368 : i64, memory_us = 7.815780e+02 : f64, minibatch_rows = 512 : i64, own_rows = 0 : i64, padded_rows = 45312 : i64, products_us = 879.92899999999997 : f64, pull_warps = 6 : i64, push_warps = 6 : i64, readiness = 0 : i64, ring_bytes = 27262976 : i64, ring_rows = 2048 : i64, ring_slots = 16 : i64, roofline_us = 1339.895 : f64, row_padding = 128 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 231808 : i64, slot_bytes = 3072 : i64, sms_comm = 19 : i64, sms_compute = 113 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 276992000 : i64, threads = 384 : i64, two_wave_rows = 8448 : i64, warp_slots = 4 : i64, warps = 12 : i64, waves_down = 1 : i64, waves_gate_up = 1 : i64, weight_bytes = 594542592 : i64, wire_dedup = 0 : i64, wire_us = 1339.895 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = 512 : i64, own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = 2048 : i64, stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H200", sms = "auto"}, gpus = 8 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 4096 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x3072xbf16> loc("model.lua":2:34)
    mok.argument @args.topk_ids : tensor<?x10xi32> loc("model.lua":2:84)
    mok.argument @args.topk_weights : tensor<?x10xf32> loc("model.lua":2:84)
    mok.argument @args.gate : tensor<?x512x3072xbf16> loc("model.lua":2:49)
    mok.argument @args.up : tensor<?x512x3072xbf16> loc("model.lua":2:49)
    mok.argument @args.down : tensor<?x3072x512xbf16> loc("model.lua":2:49)
    mok.argument @args.out : tensor<?x3072xbf16> loc("model.lua":2:34)
    mok.extent @mma_instances = 2 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.region @route_offsets : memref<?xi32> loc("model.lua":2:84)
    mok.region @route_list : memref<?xi32> loc("model.lua":2:84)
    mok.region @expert_base : memref<?xi32> loc("model.lua":2:84)
    mok.region @expert_rows : memref<?xi32> loc("model.lua":2:84)
    mok.region @block_expert : memref<?xi32> loc("model.lua":2:84)
    mok.region @row_source : memref<?x2xi32> loc("model.lua":2:84)
    mok.region @x : memref<?x3072xbf16> loc("model.lua":2:84)
    mok.region @ring_x : memref<?x3072xbf16> loc("model.lua":3:26)
    mok.region @ring_h : memref<?x512xbf16> loc("model.lua":2:49)
    mok.region @ring_y : memref<?x3072xbf16> loc("model.lua":2:49)
    mok.region @combine : memref<?x3072xbf16> loc("model.lua":3:26)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) clamp(7.000000e+00) loc("model.lua":2:49)
    mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden) loc("model.lua":2:49)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:84)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier rank as routed loc("model.lua":2:84)
    } loc("model.lua":2:84)
    mok.phase @experts {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier grid loc("model.lua":2:84)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier grid loc("model.lua":2:84)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch {
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:84)
        mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance) {
          mok.task @combine {
            mok.push reads(@row_source, @ring_y) writes(@combine) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @up {
            mok.load @up loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down {
            mok.load @down loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:84)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @up {
            mok.mma @up loc("model.lua":2:49)
            mok.store @up loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down {
            mok.mma @down loc("model.lua":2:49)
            mok.store @down loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
      mok.barrier rank as combined loc("model.lua":2:84)
    } loc("model.lua":2:84)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce {
            mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out) loc("model.lua":2:84)
          } loc("model.lua":2:84)
        } loc("model.lua":2:84)
      } loc("model.lua":2:84)
    } loc("model.lua":2:84)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
