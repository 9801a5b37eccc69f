// What the module's reader must be told: unknown attributes, unresolved names, illegal words, ops in the wrong place.
// RUN: mok-opt --build --all | sed '/mok.wait @x_ready/s/ loc(/ {colour = "red"} loc(/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=STRANGER
// STRANGER: tiny.lua:{{[0-9]+}}:3: error: 'mok.wait' op unknown attribute 'colour'
// RUN: mok-opt --build --all | sed '/mok.worker @load/s/ {$/ attributes {colour = 1 : i64} {/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=STRANGER2
// STRANGER2: error: 'mok.worker' op unknown attribute 'colour'
// RUN: mok-opt --build --all | sed '/mok.wait/s/@x_ready/@z_ready/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=SYMBOL
// SYMBOL: error: 'mok.wait' op attribute 'counter': unresolved symbol @z_ready
// RUN: mok-opt --build --all | sed '/mok.wait/s/@x_ready/@ring_x/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: 'mok.wait' op attribute 'counter': @ring_x is a mok.region, expected mok.counter
// RUN: mok-opt --build --all | sed '/mok.wait @x_ready/s/>= row_pieces/>= rows/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=FACTOR
// FACTOR: error: 'mok.wait' op attribute 'target': unresolved symbol @rows
// RUN: mok-opt --build --all | sed '/mok.wait @x_ready/s/bulk_to_bulk/bulk_to_bull/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: 'mok.wait' op attribute 'edge': unknown word 'bulk_to_bull', expected bulk_to_bulk|generic_to_bulk
// RUN: mok-opt --build --all | sed '/mok.wait @h_ready.*ring_slots/s/ lap / /' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=LAP
// LAP: error: 'mok.wait' op an index with a lag needs 'lap', the guard of the first lap
// RUN: mok-opt --build --all | sed 's/per_minibatch(dispatch,/per_minibatch(despatch,/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=TASK
// TASK: error: 'mok.phase' op attribute 'per_minibatch': the phase has no task @despatch
// RUN: mok-opt --build --all | sed 's/per_minibatch(dispatch, up, down, combine)/& ahead(up)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=PREFIX
// RUN: mok-opt --build --all | sed 's/per_minibatch(dispatch, up, down, combine)/& ahead(up, dispatch)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=PREFIX
// PREFIX: error: 'mok.phase' op attribute 'ahead': @up, where per_minibatch has @dispatch; the first tasks run ahead, in order
// RUN: mok-opt --build --all | sed 's/per_minibatch(dispatch, up, down, combine)/& ahead(dispatch, up, down, combine)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'mok.phase' op attribute 'ahead': 4 of the 4 tasks per minibatch leave none behind
// RUN: mok-opt --build --all | sed 's/per_minibatch(dispatch, up, down, combine)/ahead(dispatch)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=AHEADOF
// AHEADOF: error: 'mok.phase' op attribute 'ahead': 1 of the 0 tasks per minibatch leave none behind
// RUN: for n in -1 99999999999; do mok-opt --build --set cluster=2 --all | sed "/mok.role @compute/s/ cluster(2)/ cluster($n)/" | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=CLUSTER || exit 1; done
// CLUSTER: error: 'mok.role' op attribute 'cluster': {{-?[0-9]+}} is out of range: 0 to 2147483647
// RUN: mok-opt --build --all | sed 's/mok.worker @push/mok.worker @pull/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'mok.role' op holds two ops named @pull
// RUN: mok-opt --build --all | sed 's/instances(pull_warps)/instances(pull_worms)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: 'mok.worker' op attribute 'instances': unresolved symbol @pull_worms
// RUN: mok-opt --build --all | sed 's/over(row_block, piece)/over(piece)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=SPACE
// SPACE: error: 'mok.task' op attribute 'space': no tile space (piece)
// RUN: mok-opt --build --all | sed '/mok.wait @x_ready/s/target = "X/goal = "X/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: error: 'mok.wait' op attribute 'cuda': unknown key 'goal'
// RUN: mok-opt --build --all | sed '/mok.product @down/s/out(@ring_y) //' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=NOOUT
// NOOUT: error: 'mok.store' op product @down has no out to store to
// RUN: mok-opt --build --set comm=epilogue --all | sed '/mok.product @down/s/ rows(/ out(@combine) rows(/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=OUT
// OUT: error: 'mok.store_pushed' op product @down has an out, so its rows are not pushed
// RUN: mok-opt --build --set comm=epilogue --all | sed '/mok.product @down/s/rows(row_block)/rows(token_block)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=PUSHROWS
// PUSHROWS: error: 'mok.store_pushed' op only rows of row blocks are pushed, as the product gives them
// RUN: mok-opt --build --set own_rows=direct --all | sed '/mok.product @down/s/out(@ring_y) //' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=NOSPLITOUT
// NOSPLITOUT: error: 'mok.store_split' op product @down has no out to store to
// RUN: mok-opt --build --set gpus=1 --set own_rows=direct --all | sed '/mok.load_gathered/s/, @args.x)/)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: error: 'mok.load_gathered' op attribute 'reads': @args.x, the a of product @up, is not there
// RUN: mok-opt --build --set gpus=1 --set own_rows=direct --all | sed '/mok.product @up/s/rows(row_block)/rows(token_block)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=GATHERROWS
// GATHERROWS: error: 'mok.load_gathered' op only rows of row blocks are gathered
// RUN: mok-opt --build --all | sed '/mok.product @up/s/epilogue(swiglu)/epilogue(tanh)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=ACTIVATION
// ACTIVATION: error: 'mok.product' op attribute 'epilogue': unknown word 'tanh', expected swiglu|geglu
// RUN: mok-opt --build --all | sed '/mok.product @up/s/epilogue(swiglu)/epilogue(relu2)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=NOGATE
// NOGATE: error: 'mok.product' op relu2 takes one matrix, found 2
// RUN: mok-opt --build | sed 's/gated_activation swiglu/gated_activation relu2/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=NOGATE2
// NOGATE2: error: 'mok.gated_activation' op relu2 takes one matrix, found 2
// RUN: mok-opt --build --all | sed '/mok.extent @up_columns/{p;p}' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=REDEFINED
// REDEFINED: error: 'mok.kernel' op holds two ops named @up_columns
// RUN: printf 'module attributes {mok.after = "build"} { mok.load @up }' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=PARENT
// PARENT: error: 'mok.load' op must be directly in a mok.task
// RUN: printf 'module attributes {mok.after = "build", mok.colour = 1} { }' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=MODULE
// MODULE: error: unknown attribute 'mok.colour'
// RUN: printf 'module attributes {mok.after = "build", other.colour = 1} { }' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=MODULE2
// MODULE2: error: 'builtin.module' op unknown attribute 'other.colour'
// RUN: printf 'module { }' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=AFTER
// AFTER: error: 'builtin.module' op has no attribute 'mok.after'
// RUN: printf 'module attributes {mok.after = "melt"} { }' | expect 1 mok-opt - --all 2>&1 | FileCheck %s --check-prefix=MELT
// MELT: error: mok.after = "melt" is no pass of this version
// RUN: printf 'module attributes {mok.after = "build"} { mok.kernel }' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: -:1:{{[0-9]+}}: error: {{.*}}expected
// RUN: printf '// text\n  local x = 1' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: -:2:3: error: expected a module
// RUN: printf 'module attributes {mok.after = "build"} { func.func @f() { return } }' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: error: Dialect `func' not found for custom op
// RUN: for n in -1 -9223372036854775808 9223372036854775807 2147483648; do mok-opt --build --all | sed "/mok.extent @up_columns/s/= [0-9]*/= $n/" | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=RANGE || exit 1; done
// RANGE: error: 'mok.extent' op attribute 'value': {{-?[0-9]+}} is out of range: 0 to 2147483647
// RUN: mok-opt --build --all | sed '/mok.region @ring_x/s/at([0-9]*)/at(9223372036854775807)/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=OFFSET
// OFFSET: error: 'mok.region' op attribute 'offset': 9223372036854775807 is out of range: 0 to 70368744177664
// RUN: mok-opt --build --all | sed '/mok.barrier rank/s/as routed/as to.be/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: 'mok.barrier' op 'to.be' is no name: letters, digits and '_'
// RUN: { printf 'module attributes {mok.after = "build", mok.plan = '; for i in $(seq 100000); do printf '['; done; } | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: -:1:{{[0-9]+}}: error: brackets nest deeper than the 64 levels that a module may have
// RUN: mok-opt --build --all | sed '/mok.extent @up_columns/s/loc(\(.*\))/loc(callsite(\1 at unknown))/' | expect 1 mok-opt - 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: error: 'mok.extent' op must have a location loc("file":line:column)
