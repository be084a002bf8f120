# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors

# CMake package of an installed tvm_ffi:
#   find_package(tvm_ffi CONFIG REQUIRED)   # tvm_ffi_ROOT from `tvm-ffi-config --cmakedir`
# gives the targets tvm_ffi::header and tvm_ffi::shared and the functions of tvm_ffi_utils.cmake.

get_filename_component(tvm_ffi_ROOT_DIR "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_tvm_ffi_include "${tvm_ffi_ROOT_DIR}/include")
set(_tvm_ffi_dlpack "${_tvm_ffi_include}")
if(NOT EXISTS "${_tvm_ffi_include}/tvm/ffi/c_api.h")
  # The source tree, where this file lies in ffi/cmake.
  get_filename_component(tvm_ffi_ROOT_DIR "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  set(_tvm_ffi_include "${tvm_ffi_ROOT_DIR}/include")
  set(_tvm_ffi_dlpack "${tvm_ffi_ROOT_DIR}/3rdparty/dlpack/include")
endif()

if(NOT TARGET tvm_ffi::header)
  add_library(tvm_ffi::header INTERFACE IMPORTED)
  set_target_properties(tvm_ffi::header PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_tvm_ffi_include};${_tvm_ffi_dlpack}"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()

if(NOT TARGET tvm_ffi::shared)
  find_library(tvm_ffi_LIBRARY tvm_ffi NO_DEFAULT_PATH
    HINTS "${tvm_ffi_ROOT_DIR}/lib" "${tvm_ffi_ROOT_DIR}/build/lib" "${tvm_ffi_ROOT_DIR}/../build/lib"
          "$ENV{TVM_LIBRARY_PATH}")
  if(NOT tvm_ffi_LIBRARY)
    set(tvm_ffi_FOUND FALSE)
    set(tvm_ffi_NOT_FOUND_MESSAGE "libtvm_ffi is not in ${tvm_ffi_ROOT_DIR}/lib")
    return()
  endif()
  add_library(tvm_ffi::shared SHARED IMPORTED)
  set_target_properties(tvm_ffi::shared PROPERTIES INTERFACE_LINK_LIBRARIES tvm_ffi::header)
  if(WIN32)
    set_target_properties(tvm_ffi::shared PROPERTIES IMPORTED_IMPLIB "${tvm_ffi_LIBRARY}")
  else()
    set_target_properties(tvm_ffi::shared PROPERTIES IMPORTED_LOCATION "${tvm_ffi_LIBRARY}")
  endif()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/tvm_ffi_utils.cmake")
