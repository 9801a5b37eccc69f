# MLIR 22.1, linked statically from an explicit list: the imported MLIR targets drag in the shared libLLVM, which costs every
# process 100 ms and 80 MB.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)

add_library(mok_mlir INTERFACE)
target_include_directories(mok_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
set(MOK_MLIR_LIBRARY_DIR ${LLVM_LIBRARY_DIR} CACHE INTERNAL "")
