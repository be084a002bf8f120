// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Object types shared by the core tests.
#ifndef TVM_FFI_TESTS_CPP_TESTING_OBJECT_H_
#define TVM_FFI_TESTS_CPP_TESTING_OBJECT_H_

#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <string>
#include <utility>

namespace tvm {
namespace ffi {
namespace testing {

/// Counts live instances, so that tests see leaks and double frees.
class NodeObj : public Object {
 public:
  explicit NodeObj(int64_t value = 0) : value(value) { ++live; }
  ~NodeObj() { --live; }
  int64_t Plus(int64_t other) const { return value + other; }

  int64_t value;
  static inline int live = 0;

  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("test.core.Node", NodeObj, Object);
};

class Node : public ObjectRef {
 public:
  explicit Node(int64_t value) { data_ = make_object<NodeObj>(value); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Node, ObjectRef, NodeObj);
};

class LeafObj : public NodeObj {
 public:
  explicit LeafObj(int64_t value = 0) : NodeObj(value) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.core.Leaf", LeafObj, NodeObj);
};

class Leaf : public Node {
 public:
  explicit Leaf(int64_t value) : Node(UnsafeInit{}) { data_ = make_object<LeafObj>(value); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Leaf, Node, LeafObj);
};

/// Unrelated to Node.
class OtherObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.core.Other", OtherObj, Object);
};

class Other : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Other, ObjectRef, OtherObj);
};

/// Runs `f` and returns the text "Kind: message" of the error it throws, or "no error".
template <typename F>
std::string ErrorOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "no error";
}

}  // namespace testing
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_TESTS_CPP_TESTING_OBJECT_H_
