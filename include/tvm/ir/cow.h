// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Copy on write for object references, and checked downcast.
#ifndef TVM_IR_COW_H_
#define TVM_IR_COW_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <utility>

/// Adds `NodeType* CopyOnWrite()` to a reference class: the node is cloned first unless this
/// reference is the only owner, so that a write is never seen through another reference.
#define TVM_DEFINE_OBJECT_REF_COW_METHOD(NodeType)                                               \
  NodeType* CopyOnWrite() {                                                                      \
    TVM_FFI_ICHECK(data_ != nullptr) << "CopyOnWrite on a null reference";                       \
    if (!data_.unique()) {                                                                       \
      auto copy = ::tvm::ffi::make_object<NodeType>(*static_cast<const NodeType*>(data_.get())); \
      data_ = ::tvm::ffi::ObjectPtr<::tvm::ffi::Object>(std::move(copy));                        \
    }                                                                                            \
    return static_cast<NodeType*>(data_.get());                                                  \
  }

namespace tvm {

/// Casts a reference to a more derived reference class; TypeError when the object is no such node.
template <typename Ref, typename Source>
inline Ref Downcast(Source&& source) {
  return ffi::Any(std::forward<Source>(source)).template cast<Ref>();
}

using ffi::GetRef;

}  // namespace tvm
#endif  // TVM_IR_COW_H_
