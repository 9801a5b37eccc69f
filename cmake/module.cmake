# mok_module(name DEPENDS ... SOURCES ...): static library of the current folder's *.c and *.cpp (or SOURCES). DEPENDS names what it
# may use.
function(mok_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *.c *.cpp)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE mok_warnings)
  target_compile_definitions(${name} PRIVATE MOKGEN_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
endfunction()

# mok_unit_test(name DEPENDS ...): a Check suite tests/unit/<name>.c, CTest label unit. A suite that ran no check fails.
function(mok_unit_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${name}.c)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} mok_test_support mok_warnings)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 120 SKIP_RETURN_CODE 77)
  if(MOK_SANITIZE)
    set_tests_properties(unit.${name} PROPERTIES ENVIRONMENT CK_TIMEOUT_MULTIPLIER=10)
  endif()
endfunction()
