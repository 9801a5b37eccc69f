/* Names of the module's words, and how each op kind touches memory. */
#include <string.h>

#include "ir_impl.h"

const mok_op_facts mok_op_table[MOK_IR_NUM_OP_KINDS] = {
    [MOK_IR_WAIT] = {"wait", MOK_PROXY_NONE, MOK_PROXY_NONE, false, false, false, "mok_wait"},
    [MOK_IR_SIGNAL] = {"signal", MOK_PROXY_NONE, MOK_PROXY_NONE, false, false, false, "mok_signal"},
    [MOK_IR_SORT_ROUTES] = {"sort_routes", MOK_PROXY_GENERIC, MOK_PROXY_GENERIC, false, false, false, "mok_sort_routes"},
    [MOK_IR_PUBLISH_TOKENS] = {"publish_tokens", MOK_PROXY_GENERIC, MOK_PROXY_GENERIC, false, false, false, "mok_publish_tokens"},
    [MOK_IR_PLACE_EXPERTS] = {"place_experts", MOK_PROXY_GENERIC, MOK_PROXY_GENERIC, true, false, false, "mok_place_experts"},
    [MOK_IR_PLACE_ROWS] = {"place_rows", MOK_PROXY_GENERIC, MOK_PROXY_GENERIC, true, false, false, "mok_place_rows"},
    [MOK_IR_PULL] = {"pull", MOK_PROXY_BULK, MOK_PROXY_BULK, true, false, false, "mok_pull_rows"},
    [MOK_IR_PUSH] = {"push", MOK_PROXY_BULK, MOK_PROXY_BULK, false, true, true, "mok_push_rows"},
    [MOK_IR_LOAD] = {"load", MOK_PROXY_BULK, MOK_PROXY_NONE, false, false, false, "mok_load_stage"},
    [MOK_IR_LOAD_GATHERED] = {"load_gathered", MOK_PROXY_GENERIC, MOK_PROXY_NONE, false, false, false, "mok_load_gathered"},
    [MOK_IR_MMA] = {"mma", MOK_PROXY_NONE, MOK_PROXY_NONE, false, false, false, "mok_mma_stage"},
    [MOK_IR_STORE] = {"store", MOK_PROXY_NONE, MOK_PROXY_BULK, false, false, false, "mok_store"},
    [MOK_IR_STORE_PUSHED] = {"store_pushed", MOK_PROXY_GENERIC, MOK_PROXY_GENERIC, false, true, true, "mok_store_pushed"},
    [MOK_IR_STORE_SPLIT] = {"store_split", MOK_PROXY_GENERIC, MOK_PROXY_BULK, false, false, true, "mok_store_split"},
    [MOK_IR_REDUCE] = {"reduce_token", MOK_PROXY_GENERIC, MOK_PROXY_GENERIC, false, false, false, "mok_reduce_token"},
};

bool mok_op_kind_of(MlirOperation op, mok_ir_op_kind *kind) {
  char name[64];
  for (int i = 0; i < MOK_IR_NUM_OP_KINDS; ++i) {
    snprintf(name, sizeof name, "mok.%s", mok_op_table[i].name);
    if (!mok_op_is(op, name)) continue;
    *kind = (mok_ir_op_kind)i;
    return true;
  }
  return false;
}

const char *mok_ir_op_name(mok_ir_op_kind kind) { return mok_op_table[kind].name; }

const char *mok_ir_edge_name(mok_ir_edge edge) {
  static const char *const names[MOK_IR_NUM_EDGES] = {"bulk_to_bulk", "generic_to_bulk", "bulk_to_generic", "generic_to_generic",
                                                      "read_to_write"};
  return names[edge];
}

const char *mok_ir_base_name(mok_ir_base base) { return base == MOK_IR_ROW_BLOCK ? "row_block" : "token_block"; }
