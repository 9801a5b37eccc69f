// RUN: mok-opt --build --set activation=relu2 --all --round-trip | FileCheck %s
// RUN: mok-opt --build --until=check-protocol | sed '/mok.wait @x_ready/s/>= row_pieces/>= row_pieces * row_pieces/' | mok-opt - --passes=check-protocol,lower-to-cuda --no-check 2>/dev/null | FileCheck %s --check-prefix=OTHER
// RUN: mok-opt --build --all | sed 's/function = "comm_pull"/function = "abort(); comm_pull"/; s/mok.barrier grid/mok.barrier grid cuda {constant = "X"}/' | mok-opt - --all | FileCheck %s --check-prefix=AGAIN

// RUN: mok-opt --build --set comm=epilogue --all | FileCheck %s --check-prefix=PUSHED

// CHECK: module attributes {mok.after = "lower-to-cuda"
// CHECK: mok.kernel @forward cuda {function = "mok_forward"}
// CHECK: mok.extent @up_columns = {{[0-9]+}} from({{.*}}) cuda {constant = "UP_COLUMNS"}
// CHECK: mok.product @up {{.*}} cuda {structure = "product_up"}
// CHECK: mok.counter @h_ready {{.*}} cuda {constant = "COUNTER_H_READY", target = "H_READY_TARGET"}
// CHECK: mok.phase @route cuda {constant = "MOK_PHASE_ROUTE"}
// CHECK: mok.role @all ctas(grid) {
// CHECK: mok.worker @publish {{.*}} cuda {first_warp = "0", function = "route_publish", instances = "1", warps = "PLAN_WARPS"}
// CHECK: mok.barrier rank as routed cuda {constant = "BARRIER_ROUTED"}
// CHECK: mok.barrier grid loc
// CHECK: mok.role @comm ctas(sms_comm) cuda {argument = "comm_ctas", enumerator = "ROLE_COMM"}
// CHECK: mok.worker @push {{.*}} cuda {first_warp = "PLAN_PULL_WARPS", function = "comm_push", instances = "PLAN_PUSH_WARPS", warps = "1"}
// CHECK: mok.task @up {{.*}} cuda {enumerator = "TASK_UP"}
// CHECK: mok.wait @x_ready{{.*}} cuda {call = "mok_wait", edge = "MOK_EDGE_BULK_TO_BULK", index = "t.row_block", target = "X_READY_TARGET"}
// CHECK: mok.worker @mma {{.*}} cuda {first_warp = "4", function = "compute_mma", instances = "MMA_INSTANCES", warps = "4"}
// CHECK: mok.wait @y_ready[row_block - ring_slots]{{.*}} cuda {{{.*}}lag = "PLAN_RING_SLOTS"{{.*}}}
// The activation of one operand is applied, too; the second product stores plainly.
// CHECK: mok.store @up cuda {call = "mok_store_activated"}
// CHECK: mok.store @down cuda {call = "mok_store"}

// PUSHED: mok.worker @pull {{.*}} cuda {first_warp = "0", function = "comm_pull", instances = "PLAN_PULL_WARPS", warps = "1"}
// PUSHED: mok.store_pushed @down reads(@row_source) writes(@combine) cuda {call = "mok_store_pushed"}

// A wait that --no-check let through with another target is spelled with that target.
// OTHER: mok.wait @x_ready{{.*}} target = "ROW_PIECES * ROW_PIECES"

// Spelling is made anew on resume, whatever the module says.
// AGAIN: mok.barrier grid loc
// AGAIN: function = "comm_pull"
