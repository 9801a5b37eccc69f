add_library(mok_warnings INTERFACE)
target_compile_options(mok_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wundef -Werror
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes -Wstrict-prototypes -Wvla>)
# The same input gives the same bytes: no build folder in the binary, no contraction that depends on the CPU.
target_compile_options(mok_warnings INTERFACE -ffp-contract=off -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(MOK_SANITIZE)
  target_compile_options(mok_warnings INTERFACE -fsanitize=${MOK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(mok_warnings INTERFACE -fsanitize=${MOK_SANITIZE})
endif()
