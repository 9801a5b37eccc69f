# MLIR 22.1, linked statically from an explicit list: the imported MLIR targets drag in the shared libLLVM, which costs every
# process 100 ms and 80 MB.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)

# What the C API of IR, passes and transforms and the ODS glue of one dialect need; the linker drops what is not referenced.
set(MOK_MLIR_ARCHIVES
  MLIRCAPIIR MLIRCAPITransforms MLIRCAPIInterfaces MLIRCAPIDebug
  MLIRTransforms MLIRTransformUtils MLIRRewrite MLIRRewritePDL MLIRPDLToPDLInterp MLIRPDLInterpDialect MLIRPDLDialect
  MLIRPass MLIRAnalysis MLIRPresburger MLIRObservers MLIRDebug MLIRRemarkStreamer
  MLIRParser MLIRAsmParser MLIRBytecodeReader MLIRBytecodeWriter MLIRBytecodeOpInterface
  MLIRControlFlowInterfaces MLIRCallInterfaces MLIRCastInterfaces MLIRDataLayoutInterfaces
  MLIRDestinationStyleOpInterface MLIRFunctionInterfaces MLIRInferTypeOpInterface MLIRLoopLikeInterface MLIRMemorySlotInterfaces
  MLIRRuntimeVerifiableOpInterface MLIRShapedOpInterfaces MLIRSideEffectInterfaces MLIRSubsetOpInterface MLIRViewLikeInterface
  MLIRUBDialect MLIRMemOpInterfaces MLIRIndexingMapOpInterface MLIRInferIntRangeInterface MLIRInferIntRangeCommon
  MLIRDerivedAttributeOpInterface
  MLIRDialect MLIRIR MLIRSupport
  LLVMBitstreamReader LLVMRemarks LLVMCore LLVMBinaryFormat LLVMTargetParser LLVMSupport LLVMDemangle)

set(archives "")
foreach(name ${MOK_MLIR_ARCHIVES})
  set(path ${LLVM_LIBRARY_DIR}/lib${name}.a)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "${path} is missing: install libmlir-22-dev and llvm-22-dev")
  endif()
  list(APPEND archives ${path})
endforeach()
list(JOIN archives "," archives)

# Archives, because the tool is to run where only glibc is.
find_library(MOK_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
find_library(MOK_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
find_package(Threads REQUIRED)

add_library(mok_mlir INTERFACE)
target_include_directories(mok_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(mok_mlir INTERFACE "$<LINK_GROUP:RESCAN,${archives}>" ${MOK_ZSTD_ARCHIVE} ${MOK_ZLIB_ARCHIVE}
                      Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(mok_mlir INTERFACE -Wl,--gc-sections -static-libstdc++ -static-libgcc)
set(MOK_MLIR_LIBRARY_DIR ${LLVM_LIBRARY_DIR} CACHE INTERNAL "")
