# Installation. Components: runtime (libmok.so), development (header, archive, pkg-config file, CMake package), tool (mokgen, its
# man page, completions and the description language for editors; presets and templates are in the binary). Everything is
# relocatable: no file names the prefix, unless a GNUInstallDirs folder is given as an absolute path.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# ---------------------------------------------------------------------------------------------------------- libmok

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mok)
set_target_properties(mok_shared PROPERTIES EXPORT_NAME mok)
set_target_properties(mok_archive PROPERTIES EXPORT_NAME mok_static)
install(TARGETS mok_shared mok_archive EXPORT mokTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_SOURCE_DIR}/runtime/include/mok.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT mokTargets NAMESPACE mok:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mokConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/mokConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# 0.x: every minor version may break.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/mokConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/mokConfig.cmake ${CMAKE_BINARY_DIR}/cmake/mokConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# The Python package needs no build; which interpreters there are is nobody's to know, so it lies where PYTHONPATH can name it.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/python/mok DESTINATION ${CMAKE_INSTALL_DATADIR}/mokgen/python COMPONENT development
  FILES_MATCHING PATTERN *.py)

# mok.pc: folders below the prefix are relative to the file itself.
set(MOK_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  set(MOK_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(folder INCLUDEDIR LIBDIR)
  set(MOK_PC_${folder} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_${folder}})
    set(MOK_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
foreach(folder PREFIX INCLUDEDIR LIBDIR) # pkgconf itself escapes pcfiledir
  string(REPLACE " " "\\ " MOK_PC_${folder} "${MOK_PC_${folder}}")
endforeach()
list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE MOK_PC_PRIVATE)
configure_file(${CMAKE_CURRENT_LIST_DIR}/mok.pc.in ${CMAKE_BINARY_DIR}/cmake/mok.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cmake/mok.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# ---------------------------------------------------------------------------------------------------------- the tool

install(TARGETS mokgen RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)

set(texts "")
function(mok_text what file folder)
  set(path ${CMAKE_BINARY_DIR}/texts/${file})
  add_custom_command(OUTPUT ${path} COMMAND mokgen reference ${what} > ${path} DEPENDS mokgen VERBATIM)
  install(FILES ${path} DESTINATION ${folder} COMPONENT tool)
  set(texts ${texts} ${path} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/texts)
mok_text(man mokgen.1 ${CMAKE_INSTALL_MANDIR}/man1)
mok_text(bash mokgen ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
mok_text(zsh _mokgen ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
add_custom_target(mok_texts ALL DEPENDS ${texts})

install(FILES ${CMAKE_SOURCE_DIR}/dsl/mokgen.meta.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/mokgen/dsl COMPONENT tool)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/dsl/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/mokgen/dsl COMPONENT tool
  FILES_MATCHING PATTERN *.lua)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool
  FILES_MATCHING PATTERN *.lua PATTERN *.c)
