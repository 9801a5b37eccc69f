module attributes {mok.after = "assign-roles", mok.plan = {given = {activation = loc("model.lua":2:118), experts = loc("model.lua":2:74), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:38), intermediate = loc("model.lua":2:53), name = loc("model.lua":2:9), shared_experts = loc("model.lua":2:98), tile_n = loc("model.lua":5:12), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:87)}, gpu = "H100", model = {activation = "geglu", clamp = "nil", dtype = "bf16", experts = 3 : i64, hidden = 2880 : i64, intermediate = 2880 : i64, name = "few-experts-4xh100", shared_experts = 2 : i64, shared_intermediate = 5760 : i64, top_k = 2 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 8448 : i64, cluster = 2 : i64, combine_bytes = 11796480 : i64, comm = 0 : i64, dispatch_bytes = 11796480 : i64, dispatch_rows = 8 : i64, down_k = 64 : i64, down_m = 128 : i64, down_n = 240 : i64, down_stages = 4 : i64, expected_rows = 2731 : i64, exposed_us = 3.720200e+01 : f64, forward_us = 4.733620e+02 : f64, gate_up_k = 64 : i64, gate_up_m = 128 : i64, gate_up_n = 240 : i64, gate_up_stages = 4 : i64, grid = 132 : i64, idle_permille = 0 : i64, local_bytes = 194713856 : i64, local_copy_bytes = 7868160 : i64, memory_us = 1.332080e+02 : f64, minibatch_rows = 2560 : i64, own_rows = 0 : i64, padded_rows = 2816 : i64, products_us = 4.361600e+02 : f64, pull_warps = 6 : i64, push_warps = 6 : i64, readiness = 0 : i64, ring_bytes = 176947200 : i64, ring_rows = 10240 : i64, ring_slots = 80 : i64, roofline_us = 3.041350e+02 : f64, row_padding = 128 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 223616 : i64, slot_bytes = 2880 : i64, sms_comm = 12 : i64, sms_compute = 120 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 17704192 : i64, threads = 384 : i64, two_wave_rows = 3004 : i64, warp_slots = 4 : i64, warps = 12 : i64, waves_down = 2 : i64, waves_gate_up = 4 : i64, weight_bytes = 149299200 : i64, wire_dedup = 0 : i64, wire_us = 6.255700e+01 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = 240 : i64, waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H100", sms = "auto"}, gpus = 4 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 1024 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x2880xbf16> loc("model.lua":2:38)
    mok.argument @args.topk_ids : tensor<?x2xi32> loc("model.lua":2:87)
    mok.argument @args.topk_weights : tensor<?x2xf32> loc("model.lua":2:87)
    mok.argument @args.gate : tensor<?x2880x2880xbf16> loc("model.lua":2:53)
    mok.argument @args.up : tensor<?x2880x2880xbf16> loc("model.lua":2:53)
    mok.argument @args.down : tensor<?x2880x2880xbf16> loc("model.lua":2:53)
    mok.argument @args.shared_gate : tensor<?x5760x2880xbf16> loc("model.lua":2:98)
    mok.argument @args.shared_up : tensor<?x5760x2880xbf16> loc("model.lua":2:98)
    mok.argument @args.shared_down : tensor<?x2880x5760xbf16> loc("model.lua":2:98)
    mok.argument @args.out : tensor<?x2880xbf16> loc("model.lua":2:38)
    mok.extent @mma_instances = 2 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.region @route_offsets : memref<?xi32> loc("model.lua":2:87)
    mok.region @route_list : memref<?xi32> loc("model.lua":2:87)
    mok.region @expert_base : memref<?xi32> loc("model.lua":2:87)
    mok.region @expert_rows : memref<?xi32> loc("model.lua":2:87)
    mok.region @block_expert : memref<?xi32> loc("model.lua":2:87)
    mok.region @row_source : memref<?x2xi32> loc("model.lua":2:87)
    mok.region @x : memref<?x2880xbf16> loc("model.lua":2:87)
    mok.region @shared_h : memref<?x5760xbf16> loc("model.lua":2:98)
    mok.region @shared_y : memref<?x2880xbf16> loc("model.lua":2:98)
    mok.region @ring_x : memref<?x2880xbf16> loc("model.lua":3:26)
    mok.region @ring_h : memref<?x2880xbf16> loc("model.lua":2:53)
    mok.region @ring_y : memref<?x2880xbf16> loc("model.lua":2:53)
    mok.region @combine : memref<?x2880xbf16> loc("model.lua":3:26)
    mok.product @shared_up a(@args.x) b(@args.shared_gate, @args.shared_up) out(@shared_h) rows(token_block) depth(hidden) columns(shared_intermediate) epilogue(geglu) loc("model.lua":2:98)
    mok.product @shared_down a(@shared_h) b(@args.shared_down) out(@shared_y) rows(token_block) depth(shared_intermediate) columns(hidden) loc("model.lua":2:98)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(geglu) loc("model.lua":2:53)
    mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden) loc("model.lua":2:53)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:87)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:87)
          } loc("model.lua":2:87)
        } loc("model.lua":2:87)
      } loc("model.lua":2:87)
      mok.barrier rank as routed loc("model.lua":2:87)
    } loc("model.lua":2:87)
    mok.phase @experts {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:87)
          } loc("model.lua":2:87)
        } loc("model.lua":2:87)
      } loc("model.lua":2:87)
      mok.barrier grid loc("model.lua":2:87)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:87)
          } loc("model.lua":2:87)
        } loc("model.lua":2:87)
      } loc("model.lua":2:87)
      mok.barrier grid loc("model.lua":2:87)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch {
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:87)
        mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance) {
          mok.task @combine {
            mok.push reads(@row_source, @ring_y) writes(@combine) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:87)
      } loc("model.lua":2:87)
      mok.role @compute ctas(sms_compute) cluster(2) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @shared_up {
            mok.load @shared_up loc("model.lua":2:98)
          } loc("model.lua":2:98)
          mok.task @shared_down {
            mok.load @shared_down loc("model.lua":2:98)
          } loc("model.lua":2:98)
          mok.task @up {
            mok.load @up loc("model.lua":2:53)
          } loc("model.lua":2:53)
          mok.task @down {
            mok.load @down loc("model.lua":2:53)
          } loc("model.lua":2:53)
        } loc("model.lua":2:87)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @shared_up {
            mok.mma @shared_up loc("model.lua":2:98)
            mok.store @shared_up loc("model.lua":2:98)
          } loc("model.lua":2:98)
          mok.task @shared_down {
            mok.mma @shared_down loc("model.lua":2:98)
            mok.store @shared_down loc("model.lua":2:98)
          } loc("model.lua":2:98)
          mok.task @up {
            mok.mma @up loc("model.lua":2:53)
            mok.store @up loc("model.lua":2:53)
          } loc("model.lua":2:53)
          mok.task @down {
            mok.mma @down loc("model.lua":2:53)
            mok.store @down loc("model.lua":2:53)
          } loc("model.lua":2:53)
        } loc("model.lua":2:87)
      } loc("model.lua":2:87)
      mok.barrier rank as combined loc("model.lua":2:87)
    } loc("model.lua":2:87)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce {
            mok.reduce_token reads(@combine, @args.topk_weights, @shared_y) writes(@args.out) loc("model.lua":2:87)
          } loc("model.lua":2:87)
        } loc("model.lua":2:87)
      } loc("model.lua":2:87)
    } loc("model.lua":2:87)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
