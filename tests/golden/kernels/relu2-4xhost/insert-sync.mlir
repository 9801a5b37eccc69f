module attributes {mok.after = "insert-sync", mok.plan = {given = {activation = loc("model.lua":2:89), experts = loc("model.lua":2:65), gpu = loc("model.lua":3:12), gpus = loc("model.lua":3:26), hidden = loc("model.lua":2:32), intermediate = loc("model.lua":2:45), name = loc("model.lua":2:9), tokens_per_gpu = loc("model.lua":4:12), top_k = loc("model.lua":2:78)}, gpu = "host", model = {activation = "relu2", clamp = "nil", dtype = "bf16", experts = 3 : i64, hidden = 72 : i64, intermediate = 200 : i64, name = "relu2-4xhost", shared_experts = 0 : i64, shared_intermediate = 0 : i64, top_k = 1 : i64}, plan = {backward_us = 0.000000e+00 : f64, capacity_rows = 512 : i64, cluster = 1 : i64, combine_bytes = 14400 : i64, comm = 0 : i64, dispatch_bytes = 14400 : i64, dispatch_rows = 4 : i64, down_k = 64 : i64, down_m = 64 : i64, down_n = 16 : i64, down_stages = 8 : i64, expected_rows = 134 : i64, exposed_us = 1213.7149999999999 : f64, forward_us = 2672.3939999999998 : f64, gate_up_k = 64 : i64, gate_up_m = 64 : i64, gate_up_n = 16 : i64, gate_up_stages = 8 : i64, grid = 8 : i64, idle_permille = 80 : i64, local_bytes = 358400 : i64, local_copy_bytes = 9792 : i64, memory_us = 4.006700e+01 : f64, minibatch_rows = 128 : i64, own_rows = 0 : i64, padded_rows = 192 : i64, products_us = 1458.6790000000001 : f64, pull_warps = 4 : i64, push_warps = 4 : i64, readiness = 0 : i64, ring_bytes = 352256 : i64, ring_rows = 512 : i64, ring_slots = 8 : i64, roofline_us = 3.859200e+02 : f64, row_padding = 64 : i64, saved_bytes = 0 : i64, shared_bytes_per_cta = 85376 : i64, slot_bytes = 144 : i64, sms_comm = 3 : i64, sms_compute = 5 : i64, sms_reserved = 0 : i64, sms_total = 8 : i64, symmetric_bytes = 30720 : i64, threads = 256 : i64, two_wave_rows = 7282 : i64, warp_slots = 4 : i64, warps = 8 : i64, waves_down = 2 : i64, waves_gate_up = 6 : i64, weight_bytes = 57600 : i64, wire_dedup = 0 : i64, wire_us = 6.300000e+00 : f64}, schedule = {cluster = "auto", comm = "auto", comm_sms = "auto", minibatch_rows = "auto", own_rows = "auto", readiness = "auto", reserved_sms = 0 : i64, ring_rows = "auto", stages = "auto", tile_k = "auto", tile_m = "auto", tile_n = "auto", waves = 2 : i64, wire_dedup = "auto"}, topology = {gpu = {row = "host", sms = "auto"}, gpus = 4 : i64}, workload = {imbalance = 2.000000e+00 : f64, passes = ["forward"], save = "all", tokens_per_gpu = 100 : i64}}} {
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x72xbf16> loc("model.lua":2:32)
    mok.argument @args.topk_ids : tensor<?x1xi32> loc("model.lua":2:78)
    mok.argument @args.topk_weights : tensor<?x1xf32> loc("model.lua":2:78)
    mok.argument @args.up : tensor<?x200x72xbf16> loc("model.lua":2:45)
    mok.argument @args.down : tensor<?x72x200xbf16> loc("model.lua":2:45)
    mok.argument @args.out : tensor<?x72xbf16> loc("model.lua":2:32)
    mok.extent @mma_instances = 1 from("threads / 128 - 1") loc("model.lua":2:9)
    mok.extent @row_pieces = 16 from("ceil(row_padding / dispatch_rows)") loc("model.lua":2:9)
    mok.extent @minibatch_blocks = 2 from("minibatch_rows / row_padding") loc("model.lua":2:9)
    mok.extent @up_columns = 13 from("ceil(intermediate / 16)") loc("model.lua":2:9)
    mok.extent @down_columns = 5 from("ceil(hidden / 16)") loc("model.lua":2:9)
    mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes(1024) loc("model.lua":2:9)
    mok.region @x : memref<?x72xbf16> in(heap) at(1024) bytes(14400) loc("model.lua":2:78)
    mok.region @route_offsets : memref<?xi32> in(heap) at(15488) bytes(16) loc("model.lua":2:78)
    mok.region @route_list : memref<?xi32> in(heap) at(15616) bytes(400) loc("model.lua":2:78)
    mok.region @combine : memref<?x72xbf16> in(heap) at(16128) bytes(14400) loc("model.lua":3:26)
    mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc("model.lua":2:9)
    mok.region @counters : memref<?x32xui32> in(local) at(1024) bytes(256) loc("model.lua":2:9)
    mok.region @expert_base : memref<?xi32> in(local) at(1280) bytes(8) loc("model.lua":2:78)
    mok.region @expert_rows : memref<?xi32> in(local) at(1536) bytes(4) loc("model.lua":2:78)
    mok.region @block_expert : memref<?xi32> in(local) at(1792) bytes(32) loc("model.lua":2:78)
    mok.region @row_source : memref<?x2xi32> in(local) at(2048) bytes(4096) loc("model.lua":2:78)
    mok.region @ring_x : memref<?x72xbf16> in(local) at(6144) bytes(73728) slot(row_block mod ring_slots) loc("model.lua":3:26)
    mok.region @ring_h : memref<?x200xbf16> in(local) at(79872) bytes(204800) slot(row_block mod ring_slots) loc("model.lua":2:45)
    mok.region @ring_y : memref<?x72xbf16> in(local) at(284672) bytes(73728) slot(row_block mod ring_slots) loc("model.lua":2:45)
    mok.region @pipeline : memref<?x10240xi8> in(shared) at(0) bytes(81920) loc("model.lua":2:9)
    mok.region @slots : memref<?x144xi8> in(shared) at(0) bytes(4608) loc("model.lua":2:9)
    mok.region @slot_barriers : memref<?x8xi8> in(shared) at(4608) bytes(256) loc("model.lua":2:9)
    mok.region @staging : memref<?x24xbf16> in(shared) at(81920) bytes(3072) loc("model.lua":2:9)
    mok.region @barriers : memref<?x8xi8> in(shared) at(84992) bytes(128) loc("model.lua":2:9)
    mok.region @cta : memref<?xui32> in(shared) at(85120) bytes(256) loc("model.lua":2:9)
    mok.product @up a(@ring_x) b(@args.up) out(@ring_h) rows(row_block) depth(hidden) columns(intermediate) epilogue(relu2) tile(gate_up) m(64) n(16) k(64) stages(8) loc("model.lua":2:45)
    mok.product @down a(@ring_h) b(@args.down) out(@ring_y) rows(row_block) depth(intermediate) columns(hidden) tile(down) m(64) n(16) k(64) stages(8) loc("model.lua":2:45)
    mok.counter @x_ready per(row_block) word(0) words(8) target(row_pieces) loc("model.lua":3:26)
    mok.counter @h_ready per(row_block) word(8) words(8) target(up_columns * mma_instances) loc("model.lua":2:45)
    mok.counter @y_ready per(row_block) word(16) words(8) target(down_columns * mma_instances) loc("model.lua":2:45)
    mok.counter @y_done per(row_block) word(24) words(8) target(row_pieces) loc("model.lua":3:26)
    mok.phase @route {
      mok.role @all ctas(grid) {
        mok.worker @publish first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @publish over(once) {
            mok.sort_routes reads(@args.topk_ids) writes(@route_offsets, @route_list) loc("model.lua":2:78)
            mok.publish_tokens reads(@args.x) writes(@x) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier rank as routed loc("model.lua":2:78)
    } loc("model.lua":2:78)
    mok.phase @experts per_minibatch(dispatch, up, down, combine) ahead(dispatch, up) {
      mok.role @all ctas(grid) {
        mok.worker @place_experts first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_experts over(once) {
            mok.place_experts reads(@route_offsets) writes(@expert_base, @expert_rows, @block_expert) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier grid loc("model.lua":2:78)
      mok.role @all ctas(grid) {
        mok.worker @place_rows first_warp(0) warps(warps) instances(1) shares(cta) {
          mok.task @place_rows over(once) {
            mok.place_rows reads(@route_offsets, @route_list, @expert_base, @expert_rows) writes(@row_source) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier grid loc("model.lua":2:78)
      mok.role @comm ctas(sms_comm) {
        mok.worker @pull first_warp(0) warps(1) instances(pull_warps) shares(instance) {
          mok.task @dispatch over(row_block, piece) extent(row_pieces) {
            mok.wait @h_ready[row_block - ring_slots] >= up_columns * mma_instances edge(read_to_write) lap why("ring_x slot: every up task of the lap before has read it") loc("model.lua":3:26)
            mok.pull reads(@row_source, @x) writes(@ring_x) loc("model.lua":3:26)
            mok.signal @x_ready[row_block] edge(bulk_to_bulk) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:78)
        mok.worker @push first_warp(pull_warps) warps(1) instances(push_warps) shares(instance) {
          mok.task @combine over(row_block, piece) extent(row_pieces) {
            mok.wait @y_ready[row_block] >= down_columns * mma_instances edge(bulk_to_bulk) why("ring_y: every down task of the block has written it") loc("model.lua":3:26)
            mok.push reads(@row_source, @ring_y) writes(@combine) loc("model.lua":3:26)
            mok.signal @y_done[row_block] edge(read_to_write) loc("model.lua":3:26)
          } loc("model.lua":3:26)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.role @compute ctas(sms_compute) {
        mok.worker @load first_warp(0) warps(1) instances(1) shares(cta) {
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.wait @x_ready[row_block] >= row_pieces edge(bulk_to_bulk) why("ring_x: every dispatch task of the block has written it") loc("model.lua":2:45)
            mok.load @up loc("model.lua":2:45)
          } loc("model.lua":2:45)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.wait @h_ready[row_block] >= up_columns * mma_instances edge(bulk_to_bulk) why("ring_h: every up task of the block has written it") loc("model.lua":2:45)
            mok.load @down loc("model.lua":2:45)
          } loc("model.lua":2:45)
        } loc("model.lua":2:78)
        mok.worker @mma first_warp(4) warps(4) instances(mma_instances) shares(cta) {
          mok.task @up over(column, row_block) extent(up_columns) {
            mok.mma @up loc("model.lua":2:45)
            mok.wait @y_ready[row_block - ring_slots] >= down_columns * mma_instances edge(read_to_write) lap why("ring_h slot: every down task of the lap before has read it") loc("model.lua":2:45)
            mok.store @up loc("model.lua":2:45)
            mok.signal @h_ready[row_block] edge(bulk_to_bulk) loc("model.lua":2:45)
          } loc("model.lua":2:45)
          mok.task @down over(column, row_block) extent(down_columns) {
            mok.mma @down loc("model.lua":2:45)
            mok.wait @y_done[row_block - ring_slots] >= row_pieces edge(read_to_write) lap why("ring_y slot: every combine task of the lap before has read it") loc("model.lua":2:45)
            mok.store @down loc("model.lua":2:45)
            mok.signal @y_ready[row_block] edge(bulk_to_bulk) loc("model.lua":2:45)
          } loc("model.lua":2:45)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
      mok.barrier rank as combined loc("model.lua":2:78)
    } loc("model.lua":2:78)
    mok.phase @reduce {
      mok.role @all ctas(grid) {
        mok.worker @tokens first_warp(0) warps(1) instances(warps) shares(instance) {
          mok.task @reduce over(token) {
            mok.reduce_token reads(@combine, @args.topk_weights) writes(@args.out) loc("model.lua":2:78)
          } loc("model.lua":2:78)
        } loc("model.lua":2:78)
      } loc("model.lua":2:78)
    } loc("model.lua":2:78)
  } loc("model.lua":2:9)
} loc("model.lua":2:9)
