// RUN: mok-opt --build --set shared_experts=1 --until=allocate-rings --round-trip | FileCheck %s
// RUN: mok-opt --build --until=tile | sed 's/@ring_h : memref<?x64xbf16>/@ring_h : memref<?x32xbf16>/' | expect 1 mok-opt - --passes=allocate-rings 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: mok-opt --build --until=tile | sed 's/ring_h/ring_q/g' | expect 1 mok-opt - --passes=allocate-rings 2>&1 | FileCheck %s --check-prefix=STRANGER

// The memory map in order of space and offset; rings, and only they, with their slot arithmetic.
// CHECK: mok.region @flags : memref<?x32xui32> in(heap) at(0) bytes({{[0-9]+}}) loc
// CHECK: mok.region @x : memref<?x128xbf16> in(heap)
// CHECK: mok.region @combine : memref<?x128xbf16> in(heap) at({{[0-9]+}}) bytes({{[0-9]+}}) loc
// CHECK: mok.region @control : memref<?x32xui32> in(local) at(0) bytes(1024) loc
// CHECK: mok.region @row_source : memref<?x2xi32> in(local)
// CHECK: mok.region @ring_x : memref<?x128xbf16> in(local) at({{[0-9]+}}) bytes({{[0-9]+}}) slot(row_block mod ring_slots)
// CHECK: mok.region @ring_h : memref<?x64xbf16> in(local) at({{[0-9]+}}) bytes({{[0-9]+}}) slot(row_block mod ring_slots)
// CHECK: mok.region @ring_y : memref<?x128xbf16> in(local) at({{[0-9]+}}) bytes({{[0-9]+}}) slot(row_block mod ring_slots)
// CHECK: mok.region @shared_h : memref<?x64xbf16> in(local) at({{[0-9]+}}) bytes({{[0-9]+}}) loc
// CHECK: mok.region @pipeline : memref<?x{{[0-9]+}}xi8> in(shared) at(0)
// CHECK: mok.product

// SHAPE: error: region @ring_h: the plan's layout holds memref<?x64xbf16>
// STRANGER: error: region @ring_q has no place in the plan's layout
