// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Registers the functions of a builder so that none of them sees a null reference.
#pragma once

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <type_traits>
#include <utility>

namespace tvm::script::ir_builder {

/// `GlobalDef` whose functions refuse None where an object is required.
///
/// References are nullable, so that None converts to every kind of expression, also inside of an
/// array. A script may put None anywhere; parameters of type Optional are where it is meant.
class BuilderApi {
 public:
  template <typename F>
  BuilderApi& def(const char* name, F function) {
    Register(name, +function);
    return *this;
  }

 private:
  template <typename R, typename... Args>
  void Register(const char* name, R (*function)(Args...)) {
    def_.def(name, [name, function]([[maybe_unused]] Args... args) -> R {
      [[maybe_unused]] int index = 0;
      (void)name;
      (Require(name, index++, args), ...);
      return function(std::forward<Args>(args)...);
    });
  }

  template <typename T>
  static void Require(const char* name, int index, const T& value) {
    if constexpr (std::is_base_of_v<ffi::ObjectRef, T>) {
      TVM_FFI_CHECK(value.defined(), TypeError)
          << "argument " << index << " of " << name << " must not be None";
    }
  }
  template <typename T>
  static void Require(const char* name, int index, const ffi::Array<T>& values) {
    if constexpr (std::is_base_of_v<ffi::ObjectRef, T>) {
      for (const T& value : values) Require(name, index, value);
    }
  }
  template <typename T>
  static void Require(const char*, int, const ffi::Optional<T>&) {}

  ffi::reflection::GlobalDef def_;
};

}  // namespace tvm::script::ir_builder
