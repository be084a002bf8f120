# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
# Finds Debian's LLVM as one shared library: 22 preferred, 19 accepted.
set(TVM_LLVM_INCLUDE_DIRS "")
foreach(version 22 21 20 19)
  find_program(TVM_LLVM_CONFIG NAMES llvm-config-${version})
  if(TVM_LLVM_CONFIG)
    break()
  endif()
endforeach()
if(NOT TVM_LLVM_CONFIG)
  message(FATAL_ERROR "llvm-config-22 (or -19) not found: install llvm-22-dev, or configure with -DTVM_USE_LLVM=OFF")
endif()
execute_process(COMMAND ${TVM_LLVM_CONFIG} --includedir OUTPUT_VARIABLE TVM_LLVM_INCLUDE_DIRS
                OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${TVM_LLVM_CONFIG} --libdir OUTPUT_VARIABLE llvm_libdir OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${TVM_LLVM_CONFIG} --version OUTPUT_VARIABLE TVM_LLVM_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX MATCH "^[0-9]+" llvm_major "${TVM_LLVM_VERSION}")
find_library(TVM_LLVM_LIBRARY NAMES LLVM-${llvm_major} LLVM HINTS "${llvm_libdir}" REQUIRED)
message(STATUS "LLVM ${TVM_LLVM_VERSION}: ${TVM_LLVM_LIBRARY}")
