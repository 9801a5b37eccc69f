// RUN: mok-opt %s --passes=fuse-epilogues --round-trip | FileCheck %s
// RUN: sed 's/%h0 = .*/%h0 = mok.gated_activation swiglu %x, %u : (tensor<?x128xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>/' %s | expect 1 mok-opt - --passes=fuse-epilogues 2>&1 | FileCheck %s --check-prefix=STRANGER

module attributes {mok.after = "build"} {
  // CHECK: mok.kernel @forward
  mok.kernel @forward {
    mok.argument @args.x : tensor<?x128xbf16>
    mok.argument @args.topk_weights : tensor<?x2xf32>
    mok.argument @args.gate : tensor<?x64x128xbf16>
    mok.argument @args.up : tensor<?x64x128xbf16>
    mok.argument @args.down : tensor<?x128x64xbf16>
    mok.argument @args.out : tensor<?x128xbf16>
    %x = mok.input @args.x : tensor<?x128xbf16>
    %w = mok.input @args.topk_weights : tensor<?x2xf32>
    // Gate and up become one product that carries the activation and its clamp.
    // CHECK: %[[H:.*]] = mok.grouped_matmul %x with(@args.gate, @args.up) depth(hidden) columns(intermediate) epilogue(swiglu) clamp(7.{{0+}}e+00) :
    // CHECK-NOT: gated_activation
    %g = mok.grouped_matmul %x with(@args.gate) depth(hidden) columns(intermediate) : (tensor<?x128xbf16>) -> tensor<?x64xbf16>
    %u = mok.grouped_matmul %x with(@args.up) depth(hidden) columns(intermediate) : (tensor<?x128xbf16>) -> tensor<?x64xbf16>
    %h0 = mok.gated_activation swiglu %g, %u clamp(7.0) : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
    // An activation without a gate takes one product.
    // CHECK: %[[Y:.*]] = mok.grouped_matmul %[[H]] with(@args.down) depth(intermediate) columns(hidden) epilogue(relu2) :
    %y = mok.grouped_matmul %h0 with(@args.down) depth(intermediate) columns(hidden) : (tensor<?x64xbf16>) -> tensor<?x128xbf16>
    %y2 = mok.gated_activation relu2 %y : (tensor<?x128xbf16>) -> tensor<?x128xbf16>
    %c = mok.combine %y2 by %w : (tensor<?x128xbf16>, tensor<?x2xf32>) -> tensor<?x2x128xbf16>
    // The reduction takes the router weights in, and keeps the shared row.
    // CHECK: %[[C:.*]] = mok.combine %[[Y]]
    // CHECK-NOT: mok.scale
    // CHECK: mok.reduce %[[C]] weights(%topk_weights) shared(%x) :
    %s = mok.scale %c by %w : (tensor<?x2x128xbf16>, tensor<?x2xf32>) -> tensor<?x2x128xbf16>
    %o = mok.reduce %s shared(%x) : (tensor<?x2x128xbf16>, tensor<?x128xbf16>) -> tensor<?x128xbf16>
    mok.output %o to @args.out : tensor<?x128xbf16>
  }
}

// STRANGER: error: cannot fuse: operand 0 is no product of the same rows used only here
