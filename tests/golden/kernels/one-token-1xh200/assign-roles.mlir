module attributes {mok.after = "assign-roles", mok.plan = {given = {experts = loc("model.lua":3:7), gpu = loc("model.lua":4:12), gpus = loc("model.lua":4:26), hidden = loc("model.lua":3:7), intermediate = loc("model.lua":3:7), name = loc("model.lua":3:14), shared_experts = loc("model.lua":3:7), tokens_per_gpu = loc("model.lua":5:12), top_k = loc("model.lua":3:7)}, gpu = "H200", model = {activation = "swiglu", clamp = "nil", dtype = "bf16", experts = 128 : i64, hidden = 2048 : i64, intermediate = 768 : i64, name = "one-token-1xh200", shared_experts = 0 : i64, shared_intermediate = 0 : i64, top_k = 8 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 512 : i64, cluster = 2 : i64, combine_bytes = 0 : i64, comm = 0 : i64, dispatch_bytes = 0 : i64, dispatch_rows = 0 : i64, down_k = 64 : i64, down_m = 64 : i64, down_n = 128 : i64, down_stages = 8 : i64, expected_rows = 8 : i64, exposed_us = 8.117000e+00 : f64, forward_us = 2.572400e+01 : f64, gate_up_k = 64 : i64, gate_up_m = 64 : i64, gate_up_n = 96 : i64, gate_up_stages = 8 : i64, grid = 132 : i64, idle_permille = 30 : i64, local_bytes = 793344 : i64, local_copy_bytes = 0 : i64, memory_us = 1.758700e+01 : f64, minibatch_rows = 512 : i64, own_rows = 1 : i64, padded_rows = 512 : i64, products_us = 1.760700e+01 : f64, pull_warps = 0 : i64, push_warps = 0 : i64, readiness = 0 : i64, ring_bytes = 786432 : i64, ring_rows = 512 : i64, ring_slots = 8 : i64, roofline_us = 1.758700e+01 : f64, row_padding = 64 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 214400 : i64, slot_bytes = 0 : i64, sms_comm = 0 : i64, sms_compute = 132 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 33792 : i64, threads = 256 : i64, two_wave_rows = 5632 : i64, warp_slots = 0 : i64, warps = 8 : i64, waves_down = 1 : i64, waves_gate_up = 1 : i64, weight_bytes = 1207959552 : i64, wire_dedup = 0 : i64, wire_us = 0.000000e+00 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H200", sms = "auto"}, gpus = 1 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 1 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x2048xbf16> loc("model.lua":3:7)
    mok.argument @args.topk_ids : tensor<?x8xi32> loc("model.lua":3:7)
    mok.argument @args.topk_weights : tensor<?x8xf32> loc("model.lua":3:7)
    mok.argument @args.gate : tensor<?x768x2048xbf16> loc("model.lua":3:7)
    mok.argument @args.up : tensor<?x768x2048xbf16> loc("model.lua":3:7)
    mok.argument @args.down : tensor<?x2048x768xbf16> loc("model.lua":3:7)
    mok.argument @args.out : tensor<?x2048xbf16> loc("model.lua":3:7)
    mok.extent @mma_instances = 1 from("threads / 128 - 1") loc("model.lua":3:14)
    mok.region @route_offsets : memref<?xi32> loc("model.lua":3:7)
    mok.region @route_list : memref<?xi32> loc("model.lua":3:7)
    mok.region @expert_base : memref<?xi32> loc("model.lua":3:7)
    mok.region @expert_rows : memref<?xi32> loc("model.lua":3:7)
    mok.region @block_expert : memref<?xi32> loc("model.lua":3:7)
    mok.region @row_source : memref<?x2xi32> loc("model.lua":3:7)
    mok.region @ring_h : memref<?x768xbf16> loc("model.lua":3:7)
    mok.region @combine : memref<?x2048xbf16> loc("model.lua":3:7)
    mok.product @up a(@args.x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) loc("model.lua":3:7)
    mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden) loc("model.lua":3:7)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier rank as routed loc("model.lua":3:7)
    } loc("model.lua":3:7)
    mok.phase @experts {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier grid loc("model.lua":3:7)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier grid loc("model.lua":3:7)
      mok.role @compute ctas(grid) cluster(2) {
        mok.worker @load first_warp(0) warps(4) instances(1) shares(cta) {
          mok.task @up {
            mok.load_gathered @up reads(@row_source, @args.x) loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @down {
            mok.load @down loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @up {
            mok.mma @up loc("model.lua":3:7)
            mok.store @up loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @down {
            mok.mma @down loc("model.lua":3:7)
            mok.store_pushed @down reads(@row_source) writes(@combine) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier rank as combined loc("model.lua":3:7)
    } loc("model.lua":3:7)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce {
            mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
    } loc("model.lua":3:7)
  } loc("model.lua":3:14)
} loc("model.lua":3:14)
