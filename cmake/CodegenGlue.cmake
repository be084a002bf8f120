# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
# Embeds src/codegen/argcheck: as C text in the compiler (the `c` target prints it), as an object and as LLVM
# bitcode in libtvm_compiler_llvm (linked once into every library and JIT session).
set(glue_dir "${CMAKE_SOURCE_DIR}/src/codegen/argcheck")
set(glue_out "${CMAKE_BINARY_DIR}/generated")
set(glue_embed "${CMAKE_SOURCE_DIR}/cmake/EmbedBytes.cmake")
set(glue_inputs "${glue_dir}/argcheck.c" "${glue_dir}/glue.c" "${CMAKE_SOURCE_DIR}/include/tvm/support/argcheck.h")
file(MAKE_DIRECTORY "${glue_out}")

add_custom_command(
  OUTPUT "${glue_out}/argcheck_text.cc"
  COMMAND ${CMAKE_COMMAND} "-DINPUTS=${CMAKE_SOURCE_DIR}/include/tvm/support/argcheck.h,${glue_dir}/argcheck.c"
          -DSYMBOL=kArgCheckSource "-DOUTPUT=${glue_out}/argcheck_text.cc" -P "${glue_embed}"
  DEPENDS ${glue_inputs} "${glue_embed}" VERBATIM)
target_sources(tvm_codegen_objs PRIVATE "${glue_out}/argcheck_text.cc")

if(TVM_USE_LLVM)
  # Bitcode is only readable by an LLVM at least as new as the clang that wrote it.
  get_filename_component(llvm_bindir "${TVM_LLVM_CONFIG}" REALPATH)
  get_filename_component(llvm_bindir "${llvm_bindir}" DIRECTORY)
  find_program(TVM_GLUE_CLANG NAMES clang-${llvm_major} clang HINTS "${llvm_bindir}" REQUIRED)
  set(glue_compile ${TVM_GLUE_CLANG} -std=c11 -O2 -fPIC -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-ident
      -I "${CMAKE_SOURCE_DIR}/include" -I "${CMAKE_SOURCE_DIR}/src" -I "${CMAKE_SOURCE_DIR}/ffi/include"
      -I "${CMAKE_SOURCE_DIR}/ffi/3rdparty/dlpack/include" -c "${glue_dir}/unit.c")
  # As code for this system, and as bitcode for any other.
  add_custom_command(
    OUTPUT "${glue_out}/glue.bc" "${glue_out}/glue.o"
    COMMAND ${glue_compile} -emit-llvm -o "${glue_out}/glue.bc"
    COMMAND ${glue_compile} -fno-addrsig -o "${glue_out}/glue.o"
    DEPENDS ${glue_inputs} "${glue_dir}/unit.c" VERBATIM)
  foreach(part IN ITEMS "bc,Bitcode" "o,Object")
    string(REGEX MATCHALL "[^,]+" part "${part}")
    list(GET part 0 suffix)
    list(GET part 1 name)
    add_custom_command(
      OUTPUT "${glue_out}/glue_${suffix}.cc"
      COMMAND ${CMAKE_COMMAND} "-DINPUTS=${glue_out}/glue.${suffix}" -DSYMBOL=kGlue${name}
              "-DOUTPUT=${glue_out}/glue_${suffix}.cc" -P "${glue_embed}"
      DEPENDS "${glue_out}/glue.${suffix}" "${glue_embed}" VERBATIM)
    target_sources(tvm_codegen_llvm_objs PRIVATE "${glue_out}/glue_${suffix}.cc")
  endforeach()
endif()
