module attributes {mok.after = "insert-sync", mok.plan = {given = {clamp = loc("model.lua":3:38), experts = loc("model.lua":3:7), gpu = loc("model.lua":4:12), gpus = loc("model.lua":4:26), hidden = loc("model.lua":3:7), intermediate = loc("model.lua":3:7), name = loc("model.lua":3:13), shared_experts = loc("model.lua":3:7), tokens_per_gpu = loc("model.lua":5:12), top_k = loc("model.lua":3:7)}, gpu = "H100", model = {activation = "swiglu", clamp = 7.000000e+00 : f64, dtype = "bf16", experts = 128 : i64, hidden = 2880 : i64, intermediate = 2880 : i64, name = "gpt-oss-1xh100", shared_experts = 0 : i64, shared_intermediate = 0 : i64, top_k = 4 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 32640 : i64, cluster = 1 : i64, combine_bytes = 0 : i64, comm = 0 : i64, dispatch_bytes = 0 : i64, dispatch_rows = 0 : i64, down_k = 64 : i64, down_m = 128 : i64, down_n = 240 : i64, down_stages = 4 : i64, expected_rows = 16384 : i64, exposed_us = 6.380600e+01 : f64, forward_us = 2402.0889999999999 : f64, gate_up_k = 64 : i64, gate_up_m = 128 : i64, gate_up_n = 240 : i64, gate_up_stages = 4 : i64, grid = 132 : i64, idle_permille = 65 : i64, local_bytes = 106436864 : i64, local_copy_bytes = 0 : i64, memory_us = 2338.2840000000001 : f64, minibatch_rows = 6144 : i64, own_rows = 1 : i64, padded_rows = 24576 : i64, products_us = 2121.7429999999999 : f64, pull_warps = 0 : i64, push_warps = 0 : i64, readiness = 0 : i64, ring_bytes = 106168320 : i64, ring_rows = 18432 : i64, ring_slots = 144 : i64, roofline_us = 2288.5169999999998 : f64, row_padding = 128 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 223616 : i64, slot_bytes = 0 : i64, sms_comm = 0 : i64, sms_compute = 132 : i64, sms_reserved = 0 : i64, sms_total = 132 : i64, symmetric_bytes = 94438400 : i64, threads = 384 : i64, two_wave_rows = 3004 : i64, warp_slots = 0 : i64, warps = 12 : i64, waves_down = 5 : i64, waves_gate_up = 9 : i64, weight_bytes = 6370099200 : i64, wire_dedup = 0 : i64, wire_us = 0.000000e+00 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "H100", sms = "auto"}, gpus = 1 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 4096 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x2880xbf16> loc("model.lua":3:7)
    mok.argument @args.topk_ids : tensor<?x4xi32> loc("model.lua":3:7)
    mok.argument @args.topk_weights : tensor<?x4xf32> loc("model.lua":3:7)
    mok.argument @args.gate : tensor<?x2880x2880xbf16> loc("model.lua":3:7)
    mok.argument @args.up : tensor<?x2880x2880xbf16> loc("model.lua":3:7)
    mok.argument @args.down : tensor<?x2880x2880xbf16> loc("model.lua":3:7)
    mok.argument @args.out : tensor<?x2880xbf16> loc("model.lua":3:7)
    mok.extent @mma_instances = 2 from("threads / 128 - 1") loc("model.lua":3:13)
    mok.extent @minibatch_blocks = 48 from("minibatch_rows / row_padding") loc("model.lua":3:13)
    mok.extent @up_columns = 24 from("ceil(intermediate / 120)") loc("model.lua":3:13)
    mok.extent @down_columns = 12 from("ceil(hidden / 240)") loc("model.lua":3:13)
    mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes(256) loc("model.lua":3:13)
    mok.region @route_offsets : memref<?xi32> in(heap) at(256) bytes(516) loc("model.lua":3:7)
    mok.region @route_list : memref<?xi32> in(heap) at(896) bytes(65536) loc("model.lua":3:7)
    mok.region @combine : memref<?x2880xbf16> in(heap) at(66432) bytes(94371840) loc("model.lua":3:7)
    mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc("model.lua":3:13)
    mok.region @counters : memref<?x510xui32> in(local) at(1024) bytes(4080) loc("model.lua":3:13)
    mok.region @expert_base : memref<?xi32> in(local) at(5120) bytes(516) loc("model.lua":3:7)
    mok.region @expert_rows : memref<?xi32> in(local) at(5888) bytes(512) loc("model.lua":3:7)
    mok.region @block_expert : memref<?xi32> in(local) at(6400) bytes(1020) loc("model.lua":3:7)
    mok.region @row_source : memref<?x2xi32> in(local) at(7424) bytes(261120) loc("model.lua":3:7)
    mok.region @ring_h : memref<?x2880xbf16> in(local) at(268544) bytes(106168320) slot(row_block mod ring_slots) loc("model.lua":3:7)
    mok.region @pipeline : memref<?x47104xi8> in(shared) at(0) bytes(188416) loc("model.lua":3:13)
    mok.region @staging : memref<?x136xbf16> in(shared) at(188416) bytes(34816) loc("model.lua":3:13)
    mok.region @barriers : memref<?x8xi8> in(shared) at(223232) bytes(64) loc("model.lua":3:13)
    mok.region @cta : memref<?xui32> in(shared) at(223360) bytes(256) loc("model.lua":3:13)
    mok.product @up a(@args.x) b(@args.gate, @args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(swiglu) clamp(7.000000e+00) tile(gate_up) m(128) n(240) k(64) stages(4) loc("model.lua":3:7)
    mok.product @down a(@ring_h) b(@args.down) rows(row_block) depth(intermediate) columns(hidden) tile(down) m(128) n(240) k(64) stages(4) loc("model.lua":3:7)
    mok.counter @h_ready per(row_block) word(0) words(255) target(up_columns * mma_instances) loc("model.lua":3:7)
    mok.counter @h_done per(row_block) word(255) words(255) target(down_columns * mma_instances) loc("model.lua":3:7)
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
    mok.phase @experts per_minibatch(up, down) ahead(up) {
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
      mok.role @compute ctas(grid) {
        mok.worker @load first_warp(0) warps(4) instances(1) shares(cta) {
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.load_gathered @up reads(@row_source, @args.x) loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.wait @h_ready[row_block] >= up_columns * mma_instances edge(bulk_to_bulk) why("ring_h: every up task of the block has written it") loc("model.lua":3:7)
            mok.load @down loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.mma @up loc("model.lua":3:7)
            mok.wait @h_done[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap why("ring_h slot: every down task of the lap before has read it") loc("model.lua":3:7)
            mok.store @up loc("model.lua":3:7)
            mok.signal @h_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:7)
          } loc("model.lua":3:7)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.mma @down loc("model.lua":3:7)
            mok.store_pushed @down reads(@row_source) writes(@combine) loc("model.lua":3:7)
            mok.signal @h_done[row_block] edge(read_to_write) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
      mok.barrier rank as combined loc("model.lua":3:7)
    } loc("model.lua":3:7)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce over(token) {
            mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out) loc("model.lua":3:7)
          } loc("model.lua":3:7)
        } loc("model.lua":3:7)
      } loc("model.lua":3:7)
    } loc("model.lua":3:7)
  } loc("model.lua":3:13)
} loc("model.lua":3:13)
