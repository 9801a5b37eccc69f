// The mok dialect: one MoE layer as a megakernel.
//
// Three altitudes share it. Layer: values (input .. output). Task: phases, roles, workers and tasks over regions. Protocol: the
// same with every wait and signal. All of it sits in mok.kernel. Words and names print bare inside keyword(...), symbols with @.
// What TableGen cannot say is checked by ir_verify.c, which every op's verifier calls.

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def Mok_Dialect : Dialect {
  let name = "mok";
  let cppNamespace = "::mok";
  let summary = "one MoE layer as a megakernel";
  let hasOperationAttrVerify = 1;  // mok.after, mok.plan of the module
}

class Mok_Op<string mnemonic, list<Trait> traits = []> : Op<Mok_Dialect, mnemonic, traits> {
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::verify() { return ::mok::verifyOp(getOperation()); }
  }];
  let hasVerifier = 1;
}

// A word, or a number: instances(pull_warps), instances(1).
def Mok_Count : AnyAttrOf<[I64Attr, StrAttr]>;
def Mok_Words : TypedArrayAttrBase<StrAttr, "list of words">;
def Mok_Symbols : TypedArrayAttrBase<FlatSymbolRefAttr, "list of symbols">;
// CUDA text by what it is for, fixed by lower-to-cuda: cuda {function = "compute_load"}.
def Mok_Cuda : OptionalAttr<DictionaryAttr>;

//===--- declarations of a kernel ---===//

def Mok_KernelOp : Mok_Op<"kernel", [IsolatedFromAbove, SymbolTable, Symbol, SingleBlock, NoTerminator]> {
  let summary = "one kernel: declarations, then values or phases";
  let arguments = (ins SymbolNameAttr:$sym_name, Mok_Cuda:$cuda);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`cuda` $cuda^)? attr-dict-with-keyword $body";
}

def Mok_ArgumentOp : Mok_Op<"argument", [Symbol]> {
  let summary = "what the caller passes, a member of mok_rank_args; @args.NAME";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
}

def Mok_RegionOp : Mok_Op<"region", [Symbol]> {
  let summary = "memory of the heap, the local workspace or a CTA's shared memory; allocate-rings places it";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyMemRef>:$type, OptionalAttr<StrAttr>:$space,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$bytes, OptionalAttr<StrAttr>:$slots);
  let assemblyFormat = [{
    $sym_name `:` $type (`in` `(` custom<Word>($space)^ `)` `at` `(` custom<Number>($offset) `)`
      `bytes` `(` custom<Number>($bytes) `)`)?
    (`slot` `(` `row_block` `mod` custom<Word>($slots)^ `)`)? attr-dict
  }];
}

def Mok_ExtentOp : Mok_Op<"extent", [Symbol]> {
  let summary = "a named count of tiles, pieces or instances";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$value, StrAttr:$origin, Mok_Cuda:$cuda);
  let assemblyFormat = "$sym_name `=` custom<Number>($value) `from` `(` $origin `)` (`cuda` $cuda^)? attr-dict";
}

def Mok_CounterOp : Mok_Op<"counter", [Symbol]> {
  let summary = "one word per row or token block, counting signals up to a target";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$per, I64Attr:$word, I64Attr:$words, Mok_Words:$target, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $sym_name `per` `(` custom<Word>($per) `)` `word` `(` custom<Number>($word) `)` `words` `(` custom<Number>($words) `)`
    `target` `(` custom<Factors>($target) `)` (`cuda` $cuda^)? attr-dict
  }];
}

def Mok_ProductOp : Mok_Op<"product", [Symbol]> {
  let summary = "out = epilogue(a b^T) on row or token blocks; load_gathered picks rows of a, store_pushed and store_split place "
                "those of the result";
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$a, Mok_Symbols:$b, OptionalAttr<FlatSymbolRefAttr>:$result,
                       StrAttr:$rows, StrAttr:$depth, StrAttr:$columns, OptionalAttr<StrAttr>:$epilogue,
                       OptionalAttr<F64Attr>:$clamp, OptionalAttr<StrAttr>:$tile, OptionalAttr<I64Attr>:$m,
                       OptionalAttr<I64Attr>:$n, OptionalAttr<I64Attr>:$k, OptionalAttr<I64Attr>:$stages, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $sym_name `a` `(` $a `)` `b` `(` custom<Symbols>($b) `)` (`out` `(` $result^ `)`)? `rows` `(` custom<Word>($rows) `)`
    `depth` `(` custom<Word>($depth) `)` `columns` `(` custom<Word>($columns) `)` (`epilogue` `(` custom<Word>($epilogue)^ `)`)?
    (`clamp` `(` custom<Float>($clamp)^ `)`)?
    (`tile` `(` custom<Word>($tile)^ `)` `m` `(` custom<Number>($m) `)` `n` `(` custom<Number>($n) `)` 
      `k` `(` custom<Number>($k) `)` `stages` `(` custom<Number>($stages) `)`)? (`cuda` $cuda^)? attr-dict
  }];
}

//===--- layer altitude: values ---===//

class Mok_ValueOp<string mnemonic, list<Trait> traits = []>
    : Mok_Op<mnemonic, traits # [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::verify() { return ::mok::verifyOp(getOperation()); }
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      setName(getOperation()->getResult(0), ::mok::resultName(getOperation()));
    }
  }];
}

def Mok_InputOp : Mok_ValueOp<"input"> {
  let summary = "an argument as a value";
  let arguments = (ins FlatSymbolRefAttr:$argument);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "$argument attr-dict `:` type($value)";
}

def Mok_RouteOp : Mok_ValueOp<"route"> {
  let summary = "for each local expert's padded rows the (rank, route) they come from";
  let arguments = (ins AnyRankedTensor:$ids);
  let results = (outs AnyRankedTensor:$routes);
  let assemblyFormat = "$ids attr-dict `:` functional-type(operands, results)";
}

def Mok_DispatchOp : Mok_ValueOp<"dispatch"> {
  let summary = "token rows of all ranks, grouped by local expert";
  let arguments = (ins AnyRankedTensor:$tokens, AnyRankedTensor:$routes);
  let results = (outs AnyRankedTensor:$rows);
  let assemblyFormat = "$tokens `by` $routes attr-dict `:` functional-type(operands, results)";
}

def Mok_GroupedMatmulOp : Mok_ValueOp<"grouped_matmul"> {
  let summary = "rows times their expert's weights; with an epilogue once fused";
  let arguments = (ins AnyRankedTensor:$rows, Mok_Symbols:$weights, StrAttr:$depth, StrAttr:$columns,
                       OptionalAttr<StrAttr>:$epilogue, OptionalAttr<F64Attr>:$clamp);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = [{
    $rows `with` `(` custom<Symbols>($weights) `)` `depth` `(` custom<Word>($depth) `)` `columns` `(` custom<Word>($columns) `)`
    (`epilogue` `(` custom<Word>($epilogue)^ `)`)? (`clamp` `(` custom<Float>($clamp)^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Mok_GatedActivationOp : Mok_ValueOp<"gated_activation"> {
  let summary = "h = act(gate, up), or act(up)";
  let arguments = (ins StrAttr:$activation, Variadic<AnyRankedTensor>:$columns, OptionalAttr<F64Attr>:$clamp);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = [{
    custom<Word>($activation) $columns (`clamp` `(` custom<Float>($clamp)^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Mok_CombineOp : Mok_ValueOp<"combine"> {
  let summary = "each row to its route's slot on the rank it came from";
  let arguments = (ins AnyRankedTensor:$rows, AnyRankedTensor:$routes);
  let results = (outs AnyRankedTensor:$slots);
  let assemblyFormat = "$rows `by` $routes attr-dict `:` functional-type(operands, results)";
}

def Mok_ScaleOp : Mok_ValueOp<"scale"> {
  let summary = "slots times their router weights";
  let arguments = (ins AnyRankedTensor:$slots, AnyRankedTensor:$weights);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "$slots `by` $weights attr-dict `:` functional-type(operands, results)";
}

def Mok_ReduceOp : Mok_ValueOp<"reduce", [AttrSizedOperandSegments]> {
  let summary = "sum over the slots in order, times weights once fused, plus the shared expert's row";
  let arguments = (ins AnyRankedTensor:$slots, Optional<AnyRankedTensor>:$weights, Optional<AnyRankedTensor>:$shared);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = [{
    $slots (`weights` `(` $weights^ `)`)? (`shared` `(` $shared^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Mok_OutputOp : Mok_Op<"output"> {
  let summary = "a value becomes what the caller gets";
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$argument);
  let assemblyFormat = "$value `to` $argument attr-dict `:` type($value)";
}

//===--- task altitude: who does what ---===//

class Mok_ScopeOp<string mnemonic, list<Trait> traits = []> : Mok_Op<mnemonic, traits # [SingleBlock, NoTerminator]> {
  let regions = (region SizedRegion<1>:$body);
}

def Mok_PhaseOp : Mok_ScopeOp<"phase", [Symbol]> {
  let summary = "roles and barriers in order; the global order of its tasks: once, then rounds, in each the tasks of ahead for a "
                "minibatch and the other ones of per_minibatch for the minibatch before";
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Mok_Words>:$once, OptionalAttr<Mok_Words>:$per_minibatch,
                       OptionalAttr<Mok_Words>:$ahead, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $sym_name (`once` `(` custom<Words>($once)^ `)`)? (`per_minibatch` `(` custom<Words>($per_minibatch)^ `)`)?
    (`ahead` `(` custom<Words>($ahead)^ `)`)?
    (`cuda` $cuda^)? attr-dict-with-keyword
    $body
  }];
}

def Mok_BarrierOp : Mok_Op<"barrier"> {
  let summary = "of the rank's grid, or of all ranks";
  let arguments = (ins StrAttr:$scope, OptionalAttr<StrAttr>:$name, Mok_Cuda:$cuda);
  let assemblyFormat = "custom<Word>($scope) (`as` custom<Word>($name)^)? (`cuda` $cuda^)? attr-dict";
}

def Mok_RoleOp : Mok_ScopeOp<"role"> {
  let summary = "a range of CTAs; in a cluster they take each tile index together, for neighbouring blocks of one column";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$ctas, OptionalAttr<I64Attr>:$cluster, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $sym_name `ctas` `(` custom<Word>($ctas) `)` (`cluster` `(` custom<Number>($cluster)^ `)`)? (`cuda` $cuda^)?
    attr-dict-with-keyword $body
  }];
}

def Mok_WorkerOp : Mok_ScopeOp<"worker"> {
  let summary = "warps of a role that run the same tasks";
  let arguments = (ins SymbolNameAttr:$sym_name, Mok_Count:$first_warp, Mok_Count:$warps, Mok_Count:$instances, StrAttr:$shares,
                       Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $sym_name `first_warp` `(` custom<Count>($first_warp) `)` `warps` `(` custom<Count>($warps) `)`
    `instances` `(` custom<Count>($instances) `)` `shares` `(` custom<Word>($shares) `)` (`cuda` $cuda^)?
    attr-dict-with-keyword $body
  }];
}

def Mok_TaskOp : Mok_ScopeOp<"task"> {
  let summary = "a loop over a tile space, outer dimension first";
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Mok_Words>:$space, OptionalAttr<StrAttr>:$extent, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $sym_name (`over` `(` custom<Words>($space)^ `)`)? (`extent` `(` custom<Word>($extent)^ `)`)? (`cuda` $cuda^)?
    attr-dict-with-keyword $body
  }];
}

// A primitive that touches regions and arguments by itself.
class Mok_MoveOp<string mnemonic> : Mok_Op<mnemonic> {
  let arguments = (ins OptionalAttr<Mok_Symbols>:$reads, OptionalAttr<Mok_Symbols>:$writes, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    (`reads` `(` custom<Symbols>($reads)^ `)`)? (`writes` `(` custom<Symbols>($writes)^ `)`)? (`cuda` $cuda^)? attr-dict
  }];
}
def Mok_SortRoutesOp : Mok_MoveOp<"sort_routes"> { let summary = "this rank's routes, stable-sorted by expert"; }
def Mok_PublishTokensOp : Mok_MoveOp<"publish_tokens"> { let summary = "tokens where the peers can read them"; }
def Mok_PlaceExpertsOp : Mok_MoveOp<"place_experts"> { let summary = "rows and row blocks of this rank's experts"; }
def Mok_PlaceRowsOp : Mok_MoveOp<"place_rows"> { let summary = "the source of each padded row"; }
def Mok_PullOp : Mok_MoveOp<"pull"> { let summary = "a piece of a row block from the ranks its rows come from"; }
def Mok_PushOp : Mok_MoveOp<"push"> { let summary = "a piece of a row block to the ranks its rows came from"; }
def Mok_ReduceTokenOp : Mok_MoveOp<"reduce_token"> { let summary = "one token's slots into its output row"; }

// A step of a product's tile; load reads a, store writes out.
class Mok_TileOp<string mnemonic> : Mok_Op<mnemonic> {
  let arguments = (ins FlatSymbolRefAttr:$product, Mok_Cuda:$cuda);
  let assemblyFormat = "$product (`cuda` $cuda^)? attr-dict";
}
def Mok_LoadOp : Mok_TileOp<"load"> { let summary = "all stages of both operands"; }
def Mok_MmaOp : Mok_TileOp<"mma"> { let summary = "all stages into the accumulator"; }
def Mok_StoreOp : Mok_TileOp<"store"> { let summary = "the accumulator through the epilogue into out"; }

def Mok_LoadGatheredOp : Mok_Op<"load_gathered"> {
  let summary = "all stages of both operands, each row of a from where its route says, by ordinary reads";
  let arguments = (ins FlatSymbolRefAttr:$product, Mok_Symbols:$reads, Mok_Cuda:$cuda);
  let assemblyFormat = "$product `reads` `(` custom<Symbols>($reads) `)` (`cuda` $cuda^)? attr-dict";
}

class Mok_RoutedStoreOp<string mnemonic> : Mok_Op<mnemonic> {
  let arguments = (ins FlatSymbolRefAttr:$product, Mok_Symbols:$reads, Mok_Symbols:$writes, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $product `reads` `(` custom<Symbols>($reads) `)` `writes` `(` custom<Symbols>($writes) `)` (`cuda` $cuda^)? attr-dict
  }];
}
def Mok_StorePushedOp : Mok_RoutedStoreOp<"store_pushed"> {
  let summary = "the accumulator's rows to the ranks they came from, where writes is symmetric";
}
def Mok_StoreSplitOp : Mok_RoutedStoreOp<"store_split"> {
  let summary = "the accumulator's rows into out, but the rank's own ones to their routes in writes";
}

//===--- protocol altitude ---===//

def Mok_WaitOp : Mok_Op<"wait"> {
  let summary = "until the counter's word has reached the target; lap: not in the first lap of the ring";
  let arguments = (ins FlatSymbolRefAttr:$counter, StrAttr:$index, OptionalAttr<StrAttr>:$lag, Mok_Words:$target, StrAttr:$edge,
                       UnitAttr:$lap, OptionalAttr<StrAttr>:$why, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $counter `[` custom<Index>($index, $lag) `]` custom<Target>($target) `edge` `(` custom<Word>($edge) `)` (`lap` $lap^)?
    (`why` `(` $why^ `)`)? (`cuda` $cuda^)? attr-dict
  }];
}

def Mok_SignalOp : Mok_Op<"signal"> {
  let summary = "one more to the counter's word, after all work of this instance so far";
  let arguments = (ins FlatSymbolRefAttr:$counter, StrAttr:$index, StrAttr:$edge, Mok_Cuda:$cuda);
  let assemblyFormat = [{
    $counter `[` custom<Word>($index) `]` `edge` `(` custom<Word>($edge) `)` (`cuda` $cuda^)? attr-dict
  }];
}
