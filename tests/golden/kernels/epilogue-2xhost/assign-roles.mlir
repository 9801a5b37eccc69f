module attributes {mok.after = "assign-roles", mok.plan = {given = {clamp = loc("model.lua":2:139), comm = loc("model.lua":5:12), experts = loc("model.lua":2:68), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:35), intermediate = loc("model.lua":2:49), minibatch_rows = loc("model.lua":5:47), name = loc("model.lua":2:9), ring_rows = loc("model.lua":5:31), shared_experts = loc("model.lua":2:92), shared_intermediate = loc("model.lua":2:112), tile_m = loc("model.lua":5:68), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:81)}, gpu = "host", model = {activation = "swiglu", clamp = 1.500000e+00 : f64, dtype = "bf16", experts = 5 : i64, hidden = 136 : i64, intermediate = 88 : i64, name = "epilogue-2xhost", shared_experts = 2 : i64, shared_intermediate = 200 : i64, top_k = 3 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 576 : i64, cluster = 1 : i64, combine_bytes = 31280 : i64, comm = 2 : i64, dispatch_bytes = 31280 : i64, dispatch_rows = 4 : i64, down_k = 64 : i64, down_m = 64 : i64, down_n = 48 : i64, down_stages = 6 : i64, expected_rows = 231 : i64, exposed_us = 2.321860e+02 : f64, forward_us = 4002.8130000000001 : f64, gate_up_k = 64 : i64, gate_up_m = 64 : i64, gate_up_n = 16 : i64, gate_up_stages = 6 : i64, grid = 8 : i64, idle_permille = 393 : i64, local_bytes = 78336 : i64, local_copy_bytes = 63104 : i64, memory_us = 1.414450e+02 : f64, minibatch_rows = 64 : i64, own_rows = 0 : i64, padded_rows = 384 : i64, products_us = 3770.627 : f64, pull_warps = 8 : i64, push_warps = 0 : i64, readiness = 0 : i64, ring_bytes = 28672 : i64, ring_rows = 64 : i64, ring_slots = 1 : i64, roofline_us = 1351.6220000000001 : f64, row_padding = 64 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 93568 : i64, slot_bytes = 272 : i64, sms_comm = 1 : i64, sms_compute = 7 : i64, sms_reserved = 0 : i64, sms_total = 8 : i64, symmetric_bytes = 71168 : i64, threads = 256 : i64, two_wave_rows = 3856 : i64, warp_slots = 4 : i64, warps = 8 : i64, waves_down = 1 : i64, waves_gate_up = 2 : i64, weight_bytes = 378624 : i64, wire_dedup = 0 : i64, wire_us = 1.434800e+01 : f64}, schedule = {cluster = "auto", comm = "epilogue", comm_sms = "auto", minibatch_rows = 64 : i64, own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = 64 : i64, stages = "auto", tile_k = "auto", tile_m = 64 : i64, tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "host", sms = "auto"}, gpus = 2 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 64 : i64}}} {
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
    mok.region @route_offsets : memref<?xi32> loc("model.lua":2:81)
    mok.region @route_list : memref<?xi32> loc("model.lua":2:81)
    mok.region @expert_base : memref<?xi32> loc("model.lua":2:81)
    mok.region @expert_rows : memref<?xi32> loc("model.lua":2:81)
    mok.region @block_expert : memref<?xi32> loc("model.lua":2:81)
    mok.region @row_source : memref<?x2xi32> loc("model.lua":2:81)
    mok.region @x : memref<?x136xbf16> loc("model.lua":2:81)
    mok.region @shared_h : memref<?x200xbf16> loc("model.lua":2:92)
    mok.region @shared_y : memref<?x136xbf16> loc("model.lua":2:92)
    mok.region @ring_x : memref<?x136xbf16> loc("model.lua":3:26)
    mok.region @ring_h : memref<?x88xbf16> loc("model.lua":2:49)
    mok.region @combine : memref<?x136xbf16> loc("model.lua":2:49)
    mok.product @shared_up a(@args.x) b(@args.shared_gate, @args.shared_up) out(@shared_h) rows(token_block) depth(hidden) columns(shared_intermediate) epilogue(swiglu) clamp(1.500000e+00) loc("model.lua":2:92)
    mok.product @shared_down a(@shared_h) b(@args.shared_down) out(@shared_y) rows(token_block) depth(shared_intermediate) columns(hidden) loc("model.lua":2:92)
    mok.product @up a(@ring_x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) clamp(1.500000e+00) loc("model.lua":2:49)
    mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden) loc("model.lua":2:49)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:81)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier rank as routed loc("model.lua":2:81)
    } loc("model.lua":2:81)
    mok.phase @experts {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier grid loc("model.lua":2:81)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier grid loc("model.lua":2:81)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch {
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @shared_up {
            mok.load @shared_up loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @shared_down {
            mok.load @shared_down loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @up {
            mok.load @up loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down {
            mok.load @down loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:81)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @shared_up {
            mok.mma @shared_up loc("model.lua":2:92)
            mok.store @shared_up loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @shared_down {
            mok.mma @shared_down loc("model.lua":2:92)
            mok.store @shared_down loc("model.lua":2:92)
          } loc("model.lua":2:92)
          mok.task @up {
            mok.mma @up loc("model.lua":2:49)
            mok.store @up loc("model.lua":2:49)
          } loc("model.lua":2:49)
          mok.task @down {
            mok.mma @down loc("model.lua":2:49)
            mok.store_pushed @down reads(@row_source) writes(@combine) loc("model.lua":2:49)
          } loc("model.lua":2:49)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
      mok.barrier rank as combined loc("model.lua":2:81)
    } loc("model.lua":2:81)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce {
            mok.reduce_token reads(@combine, @args.topk_weights, @shared_y) writes(@args.out) loc("model.lua":2:81)
          } loc("model.lua":2:81)
        } loc("model.lua":2:81)
      } loc("model.lua":2:81)
    } loc("model.lua":2:81)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
