/* mok_ir_kernel_view: the module as plain structs. The module was verified, so references resolve. */
#include <string.h>

#include "ir_impl.h"

typedef struct reader {
  mok_arena *arena;
  MlirAttribute plan; /* "plan" of mok.plan; null if absent */
  mok_ir_extent *extents;
  mok_ir_argument *arguments;
  mok_ir_region *regions;
  mok_ir_counter *counters;
  mok_ir_product *products;
  size_t extent_count, argument_count, region_count, counter_count, product_count;
} reader;

#define FIND_BY_NAME(list, count, wanted)                                     \
  do {                                                                        \
    for (size_t find_i = 0; (wanted) && find_i < (count); ++find_i)           \
      if (strcmp((list)[find_i].name, (wanted)) == 0) return &(list)[find_i]; \
    return NULL;                                                              \
  } while (0)

static const mok_ir_extent *find_extent(const reader *r, const char *name) { FIND_BY_NAME(r->extents, r->extent_count, name); }
static const mok_ir_region *find_region(const reader *r, const char *name) { FIND_BY_NAME(r->regions, r->region_count, name); }
static const mok_ir_counter *find_counter(const reader *r, const char *name) {
  FIND_BY_NAME(r->counters, r->counter_count, name);
}
static const mok_ir_product *find_product(const reader *r, const char *name) {
  FIND_BY_NAME(r->products, r->product_count, name);
}

static const char *argument_name(const char *symbol) { return symbol + strlen("args."); }

static const mok_ir_argument *find_argument(const reader *r, const char *symbol) {
  if (!symbol || strncmp(symbol, "args.", 5) != 0) return NULL;
  FIND_BY_NAME(r->arguments, r->argument_count, argument_name(symbol));
}

static const char *cuda(const reader *r, MlirOperation op, const char *key) {
  MlirAttribute all = mok_op_get(op, "cuda");
  if (mlirAttributeIsNull(all)) return NULL;
  return mok_attr_string(r->arena, mlirDictionaryAttrGetElementByName(all, mok_ref(key)));
}

static const char *text(const reader *r, MlirOperation op, const char *key) { return mok_op_text(r->arena, op, key); }

static const char *type_text(const reader *r, MlirOperation op) {
  MlirAttribute type = mok_op_get(op, "type");
  mok_buf out = mok_buf_make(r->arena);
  mlirTypePrint(mlirTypeAttrGetValue(type), mok_append_text, &out);
  return out.data;
}

static int64_t plan_value(const reader *r, const char *name) {
  if (mlirAttributeIsNull(r->plan)) return 0;
  MlirAttribute a = mlirDictionaryAttrGetElementByName(r->plan, mok_ref(name));
  return !mlirAttributeIsNull(a) && mlirAttributeIsAInteger(a) ? mlirIntegerAttrGetValueInt(a) : 0;
}

static mok_ir_count read_count(const reader *r, MlirOperation op, const char *key) {
  mok_ir_count count = {.symbol = text(r, op, key), .value = mok_op_int(op, key, 0), .text = cuda(r, op, key)};
  if (!count.symbol) return count;
  const mok_ir_extent *extent = find_extent(r, count.symbol);
  if (extent) count.value = extent->value;
  else if (strcmp(count.symbol, "warps") == 0) count.value = plan_value(r, "threads") / 32;
  else count.value = plan_value(r, count.symbol);
  return count;
}

static mok_ir_factors read_factors(const reader *r, MlirOperation op, const char *key) {
  mok_ir_factors factors = {.count = mok_op_count(op, key), .value = 1};
  const mok_ir_extent **list = MOK_NEW_ARRAY(r->arena, factors.count, const mok_ir_extent *);
  for (size_t i = 0; i < factors.count; ++i) {
    list[i] = find_extent(r, mok_op_at(r->arena, op, key, i));
    /* A counter counts no further; what is larger fits no plan and is found as that. */
    factors.value = factors.value * list[i]->value < INT32_MAX ? factors.value * list[i]->value : INT32_MAX;
  }
  factors.factor = list;
  return factors;
}

static mok_ir_base read_base(const char *word) {
  return word && strcmp(word, "token_block") == 0 ? MOK_IR_TOKEN_BLOCK : MOK_IR_ROW_BLOCK;
}

static mok_ir_edge read_edge(const char *word) {
  for (int i = 0; i < MOK_IR_NUM_EDGES; ++i)
    if (strcmp(mok_ir_edge_name((mok_ir_edge)i), word) == 0) return (mok_ir_edge)i;
  return MOK_IR_BULK_TO_BULK;
}

static mok_ir_place read_place(const reader *r, const char *symbol) {
  mok_ir_place place = {.region = find_region(r, symbol), .argument = find_argument(r, symbol)};
  place.name = place.argument ? place.argument->name : symbol;
  return place;
}

/* ---- declarations ---- */

static size_t count_ops(MlirBlock block, const char *name) {
  size_t count = 0;
  MOK_FOR_OPS(op, block) count += mok_op_is(op, name);
  return count;
}

static void read_extent(reader *r, MlirOperation op) {
  r->extents[r->extent_count++] = (mok_ir_extent){.name = text(r, op, "sym_name"),
                                                  .value = mok_op_int(op, "value", 0),
                                                  .origin = text(r, op, "origin"),
                                                  .constant = cuda(r, op, "constant")};
}

static void read_argument(reader *r, MlirOperation op) {
  r->arguments[r->argument_count++] = (mok_ir_argument){.name = argument_name(text(r, op, "sym_name")), .type = type_text(r, op)};
}

static void read_region(reader *r, MlirOperation op) {
  r->regions[r->region_count++] = (mok_ir_region){.name = text(r, op, "sym_name"),
                                                  .type = type_text(r, op),
                                                  .space = text(r, op, "space"),
                                                  .offset = mok_op_int(op, "offset", 0),
                                                  .bytes = mok_op_int(op, "bytes", 0),
                                                  .ring = text(r, op, "slots") != NULL};
}

static void read_counter(reader *r, MlirOperation op) {
  r->counters[r->counter_count++] = (mok_ir_counter){.name = text(r, op, "sym_name"),
                                                     .per = read_base(text(r, op, "per")),
                                                     .word = mok_op_int(op, "word", 0),
                                                     .words = mok_op_int(op, "words", 0),
                                                     .target = read_factors(r, op, "target"),
                                                     .constant = cuda(r, op, "constant"),
                                                     .target_constant = cuda(r, op, "target")};
}

static void read_product(reader *r, MlirOperation op) {
  mok_ir_product *p = &r->products[r->product_count++];
  *p = (mok_ir_product){.name = text(r, op, "sym_name"),
                        .tile = text(r, op, "tile"),
                        .m = mok_op_int(op, "m", 0),
                        .n = mok_op_int(op, "n", 0),
                        .k = mok_op_int(op, "k", 0),
                        .stages = mok_op_int(op, "stages", 0),
                        .a = read_place(r, text(r, op, "a")),
                        .out = read_place(r, text(r, op, "result")),
                        .k_extent = text(r, op, "depth"),
                        .columns = text(r, op, "columns"),
                        .rows = read_base(text(r, op, "rows")),
                        .structure = cuda(r, op, "structure"),
                        .loc = mok_loc_of(r->arena, mlirOperationGetLocation(op))};
  p->b_count = mok_op_count(op, "b");
  const mok_ir_argument **b = MOK_NEW_ARRAY(r->arena, p->b_count, const mok_ir_argument *);
  for (size_t i = 0; i < p->b_count; ++i) b[i] = find_argument(r, mok_op_at(r->arena, op, "b", i));
  p->b = b;
  const char *epilogue = text(r, op, "epilogue");
  p->activation = epilogue ? mok_activation_find(epilogue) : NULL; /* the verifier knows the same words */
  MlirAttribute clamp = mok_op_get(op, "clamp");
  p->has_clamp = !mlirAttributeIsNull(clamp);
  if (p->has_clamp) p->clamp = mlirFloatAttrGetValueDouble(clamp);
}

/* ---- phases ---- */

static const mok_ir_place *read_places(const reader *r, MlirOperation op, const char *key, size_t *count) {
  *count = mok_op_count(op, key);
  mok_ir_place *places = MOK_NEW_ARRAY(r->arena, *count, mok_ir_place);
  for (size_t i = 0; i < *count; ++i) places[i] = read_place(r, mok_op_at(r->arena, op, key, i));
  return places;
}

static const mok_ir_place *read_out_and_places(const reader *r, MlirOperation op, const mok_ir_place *out, size_t *count) {
  size_t more;
  const mok_ir_place *writes = read_places(r, op, "writes", &more);
  mok_ir_place *places = MOK_NEW_ARRAY(r->arena, 1 + more, mok_ir_place);
  places[0] = *out;
  for (size_t i = 0; i < more; ++i) places[1 + i] = writes[i];
  *count = 1 + more;
  return places;
}

static void read_op(const reader *r, MlirOperation op, mok_ir_op_kind kind, mok_ir_op *out) {
  *out = (mok_ir_op){
      .kind = kind, .call = cuda(r, op, "call"), .loc = mok_loc_of(r->arena, mlirOperationGetLocation(op)), .op = op.ptr};
  switch (kind) {
    case MOK_IR_WAIT:
    case MOK_IR_SIGNAL:
      out->counter = find_counter(r, text(r, op, "counter"));
      out->index = (mok_ir_index){.base = read_base(text(r, op, "index")),
                                  .lag = text(r, op, "lag"),
                                  .base_text = cuda(r, op, "index"),
                                  .lag_text = cuda(r, op, "lag")};
      out->edge = read_edge(text(r, op, "edge"));
      out->edge_text = cuda(r, op, "edge");
      if (kind == MOK_IR_SIGNAL) return;
      out->target = read_factors(r, op, "target");
      out->target_text = cuda(r, op, "target");
      out->lap = !mlirAttributeIsNull(mok_op_get(op, "lap"));
      out->why = text(r, op, "why");
      return;
    case MOK_IR_LOAD:
    case MOK_IR_LOAD_GATHERED:
    case MOK_IR_MMA:
    case MOK_IR_STORE:
    case MOK_IR_STORE_PUSHED:
    case MOK_IR_STORE_SPLIT:
      out->product = find_product(r, text(r, op, "product"));
      if (kind == MOK_IR_LOAD) {
        out->reads = &out->product->a;
        out->read_count = 1;
      } else if (kind == MOK_IR_LOAD_GATHERED) {
        out->reads = read_places(r, op, "reads", &out->read_count);
      } else if (kind == MOK_IR_STORE) {
        out->writes = &out->product->out;
        out->write_count = 1;
      } else if (kind == MOK_IR_STORE_PUSHED) {
        out->reads = read_places(r, op, "reads", &out->read_count);
        out->writes = read_places(r, op, "writes", &out->write_count);
      } else if (kind == MOK_IR_STORE_SPLIT) {
        out->reads = read_places(r, op, "reads", &out->read_count);
        out->writes = read_out_and_places(r, op, &out->product->out, &out->write_count);
      }
      return;
    case MOK_IR_SORT_ROUTES:
    case MOK_IR_PUBLISH_TOKENS:
    case MOK_IR_PLACE_EXPERTS:
    case MOK_IR_PLACE_ROWS:
    case MOK_IR_PULL:
    case MOK_IR_PUSH:
    case MOK_IR_REDUCE:
      out->reads = read_places(r, op, "reads", &out->read_count);
      out->writes = read_places(r, op, "writes", &out->write_count);
      return;
    case MOK_IR_NUM_OP_KINDS:
      return;
  }
}

/* "column,row_block": the block varies fastest. */
static void read_space(const reader *r, MlirOperation op, mok_ir_task *task) {
  task->space = MOK_IR_ONCE;
  const size_t count = mok_op_count(op, "space");
  if (count == 1 && strcmp(mok_op_at(r->arena, op, "space", 0), "token") == 0) task->space = MOK_IR_TOKEN;
  if (count != 2) return;
  const char *outer = mok_op_at(r->arena, op, "space", 0), *inner = mok_op_at(r->arena, op, "space", 1);
  task->blocks_inner = strcmp(inner, "row_block") == 0 || strcmp(inner, "token_block") == 0;
  const char *block = task->blocks_inner ? inner : outer, *second = task->blocks_inner ? outer : inner;
  if (strcmp(block, "token_block") == 0) task->space = MOK_IR_TOKEN_BLOCK_COLUMN;
  else task->space = strcmp(second, "piece") == 0 ? MOK_IR_ROW_BLOCK_PIECE : MOK_IR_ROW_BLOCK_COLUMN;
}

static void read_task(const reader *r, MlirOperation op, const mok_ir_phase *phase, mok_ir_task *task) {
  *task = (mok_ir_task){.name = text(r, op, "sym_name"),
                        .extent = find_extent(r, text(r, op, "extent")),
                        .order = -1,
                        .enumerator = cuda(r, op, "enumerator"),
                        .loc = mok_loc_of(r->arena, mlirOperationGetLocation(op)),
                        .op = op.ptr};
  read_space(r, op, task);
  for (size_t i = 0; i < phase->once_count; ++i)
    if (strcmp(phase->once[i], task->name) == 0) task->order = (int)i;
  for (size_t i = 0; i < phase->per_minibatch_count; ++i) {
    if (strcmp(phase->per_minibatch[i], task->name) != 0) continue;
    task->order = (int)(phase->once_count + i);
    task->per_minibatch = true;
    task->ahead = i < phase->ahead_count;
  }
  size_t capacity = 0;
  MOK_FOR_OPS(inner, mok_op_body(op))++ capacity;
  mok_ir_op *ops = MOK_NEW_ARRAY(r->arena, capacity, mok_ir_op);
  MOK_FOR_OPS(inner, mok_op_body(op)) {
    mok_ir_op_kind kind;
    if (mok_op_kind_of(inner, &kind)) read_op(r, inner, kind, &ops[task->op_count++]);
  }
  task->ops = ops;
}

static void read_worker(const reader *r, MlirOperation op, const mok_ir_phase *phase, mok_ir_worker *worker) {
  *worker = (mok_ir_worker){.name = text(r, op, "sym_name"),
                            .first_warp = read_count(r, op, "first_warp"),
                            .warps = read_count(r, op, "warps"),
                            .instances = read_count(r, op, "instances"),
                            .shares_cta = strcmp(text(r, op, "shares"), "cta") == 0,
                            .function = cuda(r, op, "function"),
                            .loc = mok_loc_of(r->arena, mlirOperationGetLocation(op)),
                            .op = op.ptr};
  mok_ir_task *tasks = MOK_NEW_ARRAY(r->arena, count_ops(mok_op_body(op), "mok.task"), mok_ir_task);
  MOK_FOR_OPS(task, mok_op_body(op)) {
    if (mok_op_is(task, "mok.task")) read_task(r, task, phase, &tasks[worker->task_count++]);
  }
  worker->tasks = tasks;
}

static const mok_ir_role *read_role(const reader *r, MlirOperation op, const mok_ir_phase *phase) {
  mok_ir_role *role = MOK_NEW(r->arena, mok_ir_role);
  *role = (mok_ir_role){.name = text(r, op, "sym_name"),
                        .ctas = text(r, op, "ctas"),
                        .cluster = mok_op_int(op, "cluster", 1),
                        .enumerator = cuda(r, op, "enumerator"),
                        .argument = cuda(r, op, "argument"),
                        .loc = mok_loc_of(r->arena, mlirOperationGetLocation(op))};
  mok_ir_worker *workers = MOK_NEW_ARRAY(r->arena, count_ops(mok_op_body(op), "mok.worker"), mok_ir_worker);
  MOK_FOR_OPS(worker, mok_op_body(op)) {
    if (mok_op_is(worker, "mok.worker")) read_worker(r, worker, phase, &workers[role->worker_count++]);
  }
  role->workers = workers;
  return role;
}

static const mok_ir_barrier *read_barrier(const reader *r, MlirOperation op) {
  mok_ir_barrier *barrier = MOK_NEW(r->arena, mok_ir_barrier);
  *barrier = (mok_ir_barrier){
      .rank = strcmp(text(r, op, "scope"), "rank") == 0, .name = text(r, op, "name"), .constant = cuda(r, op, "constant")};
  return barrier;
}

static const char *const *read_names(const reader *r, MlirOperation op, const char *key, size_t *count) {
  *count = mok_op_count(op, key);
  const char **names = MOK_NEW_ARRAY(r->arena, *count, const char *);
  for (size_t i = 0; i < *count; ++i) names[i] = mok_op_at(r->arena, op, key, i);
  return names;
}

static void read_phase(const reader *r, MlirOperation op, mok_ir_phase *phase) {
  *phase = (mok_ir_phase){.name = text(r, op, "sym_name"),
                          .constant = cuda(r, op, "constant"),
                          .loc = mok_loc_of(r->arena, mlirOperationGetLocation(op))};
  phase->once = read_names(r, op, "once", &phase->once_count);
  phase->per_minibatch = read_names(r, op, "per_minibatch", &phase->per_minibatch_count);
  phase->ahead_count = mok_op_count(op, "ahead");
  MlirBlock body = mok_op_body(op);
  mok_ir_item *items = MOK_NEW_ARRAY(r->arena, count_ops(body, "mok.role") + count_ops(body, "mok.barrier"), mok_ir_item);
  MOK_FOR_OPS(inner, body) {
    if (mok_op_is(inner, "mok.role")) items[phase->item_count++].role = read_role(r, inner, phase);
    if (mok_op_is(inner, "mok.barrier")) items[phase->item_count++].barrier = read_barrier(r, inner);
  }
  phase->items = items;
}

static void each(reader *r, MlirBlock body, const char *name, void (*read)(reader *, MlirOperation)) {
  MOK_FOR_OPS(op, body) {
    if (mok_op_is(op, name)) read(r, op);
  }
}

const mok_kernel_view *mok_kernel_view_of(mok_arena *arena, MlirOperation op) {
  MlirBlock body = mok_op_body(op);
  reader r = {.arena = arena};
  MlirAttribute plan = mok_op_get(mlirOperationGetParentOperation(op), "mok.plan");
  if (!mlirAttributeIsNull(plan)) r.plan = mlirDictionaryAttrGetElementByName(plan, mok_ref("plan"));
  if (!mlirAttributeIsNull(r.plan) && !mlirAttributeIsADictionary(r.plan)) r.plan = (MlirAttribute){NULL};
  r.extents = MOK_NEW_ARRAY(arena, count_ops(body, "mok.extent"), mok_ir_extent);
  r.arguments = MOK_NEW_ARRAY(arena, count_ops(body, "mok.argument"), mok_ir_argument);
  r.regions = MOK_NEW_ARRAY(arena, count_ops(body, "mok.region"), mok_ir_region);
  r.counters = MOK_NEW_ARRAY(arena, count_ops(body, "mok.counter"), mok_ir_counter);
  r.products = MOK_NEW_ARRAY(arena, count_ops(body, "mok.product"), mok_ir_product);
  each(&r, body, "mok.extent", read_extent); /* first what the others name */
  each(&r, body, "mok.argument", read_argument);
  each(&r, body, "mok.region", read_region);
  each(&r, body, "mok.counter", read_counter);
  each(&r, body, "mok.product", read_product);

  mok_ir_phase *phases = MOK_NEW_ARRAY(arena, count_ops(body, "mok.phase"), mok_ir_phase);
  size_t phase_count = 0;
  MOK_FOR_OPS(phase, body) {
    if (mok_op_is(phase, "mok.phase")) read_phase(&r, phase, &phases[phase_count++]);
  }

  mok_kernel_view *view = MOK_NEW(arena, mok_kernel_view);
  *view = (mok_kernel_view){.name = text(&r, op, "sym_name"),
                            .arguments = r.arguments,
                            .argument_count = r.argument_count,
                            .regions = r.regions,
                            .region_count = r.region_count,
                            .extents = r.extents,
                            .extent_count = r.extent_count,
                            .counters = r.counters,
                            .counter_count = r.counter_count,
                            .products = r.products,
                            .product_count = r.product_count,
                            .phases = phases,
                            .phase_count = phase_count,
                            .function = cuda(&r, op, "function"),
                            .loc = mok_loc_of(arena, mlirOperationGetLocation(op)),
                            .op = op.ptr};
  return view;
}

mok_status mok_ir_kernel_view(mok_arena *arena, const mok_module *module, const char *name, const mok_kernel_view **out) {
  *out = NULL;
  MOK_FOR_OPS(op, mlirModuleGetBody(module->module)) {
    if (!mok_op_is(op, "mok.kernel")) continue;
    if (name && strcmp(mok_op_text(arena, op, "sym_name"), name) != 0) continue;
    if (*out) return MOK_ERROR(MOK_ERR_CODEGEN, "the module has several kernels: name one");
    *out = mok_kernel_view_of(arena, op);
  }
  if (!*out) return MOK_ERROR(MOK_ERR_CODEGEN, "the module has no kernel %s", name ? name : "");
  if ((*out)->phase_count == 0) {
    *out = NULL;
    return MOK_ERROR(MOK_ERR_CODEGEN, "the kernel has no phases: run the passes up to assign-roles first");
  }
  return MOK_OK;
}
