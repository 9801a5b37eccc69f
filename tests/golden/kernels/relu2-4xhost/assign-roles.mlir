module attributes {mok.after = "assign-roles", mok.plan = {given = {activation = loc("model.lua":2:89), experts = loc("model.lua":2:65), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:32), intermediate = loc("model.lua":2:45), name = loc("model.lua":2:9), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:78)}, gpu = "host", model = {activation = "relu2", clamp = "nil", dtype = "bf16", experts = 3 : i64, hidden = 72 : i64, intermediate = 200 : i64, name = "relu2-4xhost", shared_experts = 0 : i64, shared_intermediate = 0 : i64, top_k = 1 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 512 : i64, cluster = 1 : i64, combine_bytes = 14400 : i64, comm = 0 : i64, dispatch_bytes = 14400 : i64, dispatch_rows = 4 : i64, down_k = 64 : i64, down_m = 64 : i64, down_n = 16 : i64, down_stages = 8 : i64, expected_rows = 134 : i64, exposed_us = 1213.7149999999999 : f64, forward_us = 2672.3939999999998 : f64, gate_up_k = 64 : i64, gate_up_m = 64 : i64, gate_up_n = 16 : i64, gate_up_stages = 8 : i64, grid = 8 : i64, idle_permille = 80 : i64, local_bytes = 358400 : i64, local_copy_bytes = 9792 : i64, memory_us = 4.006700e+01 : f64, minibatch_rows = 128 : i64, own_rows = 0 : i64, padded_rows = 192 : i64, products_us = 1458.6790000000001 : f64, pull_warps = 4 : i64, push_warps = 4 : i64, readiness = 0 : i64, ring_bytes = 352256 : i64, ring_rows = 512 : i64, ring_slots = 8 : i64, roofline_us = 3.859200e+02 : f64, row_padding = 64 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 85376 : i64, slot_bytes = 144 : i64, sms_comm = 3 : i64, sms_compute = 5 : i64, sms_reserved = 0 : i64, sms_total = 8 : i64, symmetric_bytes = 30720 : i64, threads = 256 : i64, two_wave_rows = 7282 : i64, warp_slots = 4 : i64, warps = 8 : i64, waves_down = 2 : i64, waves_gate_up = 6 : i64, weight_bytes = 57600 : i64, wire_dedup = 0 : i64, wire_us = 6.300000e+00 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "host", sms = "auto"}, gpus = 4 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 100 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x72xbf16> loc("model.lua":2:32)
    mok.argument @args.topk_ids : tensor<?x1xi32> loc("model.lua":2:78)
    mok.argument @args.topk_weights : tensor<?x1xf32> loc("model.lua":2:78)
    mok.argument @args.up : tensor<?x200x72xbf16> loc("model.lua":2:45)
    mok.argument @args.down : tensor<?x72x200xbf16> loc("model.lua":2:45)
    mok.argument @args.out : tensor<?x72xbf16> loc("model.lua":2:32)
    mok.extent @mma_instances = 1 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.region @route_offsets : memref<?xi32> loc("model.lua":2:78)
    mok.region @route_list : memref<?xi32> loc("model.lua":2:78)
    mok.region @expert_base : memref<?xi32> loc("model.lua":2:78)
    mok.region @expert_rows : memref<?xi32> loc("model.lua":2:78)
    mok.region @block_expert : memref<?xi32> loc("model.lua":2:78)
    mok.region @row_source : memref<?x2xi32> loc("model.lua":2:78)
    mok.region @x : memref<?x72xbf16> loc("model.lua":2:78)
    mok.region @ring_x : memref<?x72xbf16> loc("model.lua":3:26)
    mok.region @ring_h : memref<?x200xbf16> loc("model.lua":2:45)
    mok.region @ring_y : memref<?x72xbf16> loc("model.lua":2:45)
    mok.region @combine : memref<?x72xbf16> loc("model.lua":3:26)
    mok.product @up a(@ring_x) b(@args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(relu2) loc("model.lua":2:45)
    mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden) loc("model.lua":2:45)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:78)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier rank as routed loc("model.lua":2:78)
    } loc("model.lua":2:78)
    mok.phase @experts {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier grid loc("model.lua":2:78)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier grid loc("model.lua":2:78)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch {
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:78)
        mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance) {
          mok.task @combine {
            mok.push reads(@row_source, @ring_y) writes(@combine) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @up {
            mok.load @up loc("model.lua":2:45)
          } loc("model.lua":2:45)
          mok.task @down {
            mok.load @down loc("model.lua":2:45)
          } loc("model.lua":2:45)
        } loc("model.lua":2:78)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @up {
            mok.mma @up loc("model.lua":2:45)
            mok.store @up loc("model.lua":2:45)
          } loc("model.lua":2:45)
          mok.task @down {
            mok.mma @down loc("model.lua":2:45)
            mok.store @down loc("model.lua":2:45)
          } loc("model.lua":2:45)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier rank as combined loc("model.lua":2:78)
    } loc("model.lua":2:78)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce {
            mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
    } loc("model.lua":2:78)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
