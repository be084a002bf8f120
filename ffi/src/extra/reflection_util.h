// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Shared by the implementation files of reflection and of the operations built on it.
#ifndef TVM_FFI_SRC_EXTRA_REFLECTION_UTIL_H_
#define TVM_FFI_SRC_EXTRA_REFLECTION_UTIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/structural_detail.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>

namespace tvm {
namespace ffi {

/// Argument that separates positional from named arguments of an automatic constructor.
const ObjectRef& KwargsSentinel();

namespace reflection {

inline std::string TypeKeyOf(int32_t type_index) { return internal::TypeKeyText(type_index); }

}  // namespace reflection

// The helpers that headers need too.
using detail::CallbackBinding;
using detail::EnterRegion;
using detail::EntriesOf;
using detail::IsMapping;
using detail::IsObject;
using detail::IsSequence;
using detail::kMaxTraversalDepth;
using detail::MapEntries;
using detail::RawAny;
using detail::ReadField;
using detail::RegionOfField;
using detail::RegionOfVariableFields;
using detail::SequenceView;
using detail::StrongCount;
using detail::TraversalDepth;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_REFLECTION_UTIL_H_
