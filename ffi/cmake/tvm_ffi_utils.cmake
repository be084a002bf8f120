# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors

# Functions for projects that build extension libraries.

function(_tvm_ffi_find_python out)
  if(NOT Python_EXECUTABLE)
    find_package(Python COMPONENTS Interpreter REQUIRED)
  endif()
  set(${out} "${Python_EXECUTABLE}" PARENT_SCOPE)
endfunction()

# tvm_ffi_configure_target(target [STUB_DIR dir] [STUB_INIT ON|OFF] [STUB_PKG package]
#                          [STUB_PREFIX prefix])
# Links a library against tvm_ffi. With STUB_DIR, regenerates the Python stubs there after each
# build; with STUB_INIT, also creates the files of a package that has none yet.
function(tvm_ffi_configure_target target)
  cmake_parse_arguments(arg "" "STUB_DIR;STUB_INIT;STUB_PKG;STUB_PREFIX" "" ${ARGN})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "tvm_ffi_configure_target: ${target} is no target")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tvm_ffi_configure_target: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  target_link_libraries(${target} PRIVATE tvm_ffi::header tvm_ffi::shared)
  if(MSVC)
    target_compile_options(${target} PRIVATE /EHsc)
  endif()
  if(NOT arg_STUB_DIR)
    return()
  endif()
  _tvm_ffi_find_python(python)
  get_filename_component(stub_dir "${arg_STUB_DIR}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  set(command "${python}" -m tvm_ffi.stub.cli "${stub_dir}" --dlls "$<TARGET_FILE:${target}>")
  if(arg_STUB_INIT)
    if(NOT arg_STUB_PKG)
      set(arg_STUB_PKG "${SKBUILD_PROJECT_NAME}")
    endif()
    if(NOT arg_STUB_PKG)
      set(arg_STUB_PKG "${PROJECT_NAME}")
    endif()
    if(NOT arg_STUB_PREFIX)
      set(arg_STUB_PREFIX "${arg_STUB_PKG}.")
    endif()
    list(APPEND command --init-pypkg "${arg_STUB_PKG}" --init-lib "${target}"
                        --init-prefix "${arg_STUB_PREFIX}")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${command} VERBATIM
                     COMMENT "Stubs of ${target}")
endfunction()

# tvm_ffi_install(target [DESTINATION dir])
# Installs what debuggers need beside a library; nothing on most platforms.
function(tvm_ffi_install target)
  cmake_parse_arguments(arg "" "DESTINATION" "" ${ARGN})
  if(NOT arg_DESTINATION)
    set(arg_DESTINATION ".")
  endif()
  if(APPLE)
    install(DIRECTORY "$<TARGET_FILE:${target}>.dSYM" DESTINATION "${arg_DESTINATION}" OPTIONAL)
  elseif(MSVC)
    install(FILES "$<TARGET_PDB_FILE:${target}>" DESTINATION "${arg_DESTINATION}" OPTIONAL)
  endif()
endfunction()

# GPU binaries from one CUDA source. The target's output is a .cubin or .fatbin file.
function(_tvm_ffi_gpu_binary target kind)
  cmake_parse_arguments(arg "" "CUDA" "OPTIONS" ${ARGN})
  if(NOT arg_CUDA)
    message(FATAL_ERROR "add_tvm_ffi_${kind}: CUDA <source> is missing")
  endif()
  find_package(CUDAToolkit REQUIRED)
  get_filename_component(source "${arg_CUDA}" ABSOLUTE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}.${kind}")
  set(architectures "")
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "^[0-9]")
    if(kind STREQUAL "cubin")
      list(GET CMAKE_CUDA_ARCHITECTURES 0 first)
      set(architectures "-arch=sm_${first}")
    else()
      foreach(item IN LISTS CMAKE_CUDA_ARCHITECTURES)
        list(APPEND architectures "-gencode=arch=compute_${item},code=sm_${item}")
      endforeach()
    endif()
  endif()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -${kind} ${architectures} ${arg_OPTIONS} "${source}"
            -o "${output}"
    DEPENDS "${source}" VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${output}")
  set_target_properties(${target} PROPERTIES TVM_FFI_BINARY "${output}")
endfunction()

# add_tvm_ffi_cubin(target CUDA source [OPTIONS ..])
function(add_tvm_ffi_cubin target)
  _tvm_ffi_gpu_binary(${target} cubin ${ARGN})
endfunction()

# add_tvm_ffi_fatbin(target CUDA source [OPTIONS ..])
function(add_tvm_ffi_fatbin target)
  _tvm_ffi_gpu_binary(${target} fatbin ${ARGN})
endfunction()

# tvm_ffi_embed_bin_into(target SYMBOL name BIN file)
# Links the bytes of a file into a target, for TVM_FFI_EMBED_CUBIN(name).
function(tvm_ffi_embed_bin_into target)
  cmake_parse_arguments(arg "" "SYMBOL;BIN" "" ${ARGN})
  if(NOT arg_SYMBOL OR NOT arg_BIN)
    message(FATAL_ERROR "tvm_ffi_embed_bin_into: SYMBOL and BIN are needed")
  endif()
  if(WIN32 OR APPLE)
    message(FATAL_ERROR "tvm_ffi_embed_bin_into needs an ELF platform")
  endif()
  set(assembly "${CMAKE_CURRENT_BINARY_DIR}/${target}_${arg_SYMBOL}.S")
  set(symbol "__tvm_ffi__cubin_${arg_SYMBOL}")
  get_filename_component(binary "${arg_BIN}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  file(WRITE "${assembly}" ".section .rodata\n.balign 64\n.globl ${symbol}\n.hidden ${symbol}\n\
${symbol}:\n.incbin \"${binary}\"\n.globl ${symbol}_end\n.hidden ${symbol}_end\n${symbol}_end:\n\
.byte 0\n.section .note.GNU-stack,\"\",@progbits\n")
  enable_language(ASM)
  target_sources(${target} PRIVATE "${assembly}")
  set_source_files_properties("${assembly}" PROPERTIES OBJECT_DEPENDS "${binary}")
endfunction()
