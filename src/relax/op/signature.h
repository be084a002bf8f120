// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Parsed form of a row's operand and attribute texts.
#ifndef TVM_SRC_RELAX_OP_SIGNATURE_H_
#define TVM_SRC_RELAX_OP_SIGNATURE_H_

#include <tvm/ffi/any.h>
#include <tvm/runtime/base.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace relax {

enum class ArgKind : uint8_t { kTensor, kTuple, kShape, kPrim, kAny };

struct ArgSpec {
  std::string name;
  ArgKind kind = ArgKind::kTensor;
  bool optional = false;
  const char* KindName() const;
};

struct AttrSpec {
  std::string name;
  bool required = true;
  ffi::Any default_value;
};

/// Stands for a field of type Optional<Array<..>> in FieldTypes.
constexpr int32_t kOptionalArray = -100;

struct OpSignature {
  std::vector<ArgSpec> args;
  size_t num_required_args = 0;
  std::vector<AttrSpec> attrs;

  /// Parses `x, indices:tensor, bias?` and `axis=None, mode='fast'`.
  TVM_DLL static OpSignature Parse(std::string_view args, std::string_view attrs);
  /// Static type index of each attribute's field in the structure of that key, or kOptionalArray.
  TVM_DLL const std::vector<int32_t>& FieldTypes(const char* attrs_key) const;

 private:
  mutable std::vector<int32_t> field_types_;
};

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_SIGNATURE_H_
