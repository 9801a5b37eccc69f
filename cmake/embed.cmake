# mok_embed(OUT type symbol NAMES_FROM folder FILES ...): generates OUT, a C file with
#   const <type> <symbol>[] = {{"name", "text", size}, ...};  const size_t <count> = N;
# Names are relative to the folder, without the ending STRIP if it is given. HEADER declares the type.
function(mok_embed out)
  cmake_parse_arguments(ARG "" "HEADER;TYPE;ARRAY;COUNT;FOLDER;STRIP" "FILES" ${ARGN})
  set(paths "")
  foreach(file ${ARG_FILES})
    list(APPEND paths ${ARG_FOLDER}/${file})
  endforeach()
  string(REPLACE ";" "|" files "${ARG_FILES}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DHEADER=${ARG_HEADER} -DTYPE=${ARG_TYPE} -DARRAY=${ARG_ARRAY} -DCOUNT=${ARG_COUNT}
            -DFOLDER=${ARG_FOLDER} -DSTRIP=${ARG_STRIP} "-DFILES=${files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
endfunction()
