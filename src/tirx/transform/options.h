// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Typed options of TIRx passes, set through PassContext.config under the pass's name.
#ifndef TVM_SRC_TIRX_TRANSFORM_OPTIONS_H_
#define TVM_SRC_TIRX_TRANSFORM_OPTIONS_H_

#include <tvm/ir/attrs.h>
#include <tvm/ir/transform.h>

namespace tvm {
namespace tirx {

#define TVM_TIRX_DEFINE_OPTIONS_REF(Name, Node)                                      \
  class Name : public Attrs {                                                        \
   public:                                                                           \
    Name() : Attrs(ffi::UnsafeInit{}) { data_ = ffi::make_object<Node>(); }          \
    explicit Name(ffi::UnsafeInit tag) : Attrs(tag) {}                               \
    explicit Name(ffi::ObjectPtr<Node> node) : Attrs(ffi::UnsafeInit{}) {            \
      data_ = std::move(node);                                                       \
    }                                                                                \
    Name(const Name&) = default;                                                     \
    Name& operator=(const Name&) = default;                                          \
    const Node* operator->() const { return static_cast<const Node*>(data_.get()); } \
    const Node* get() const { return operator->(); }                                 \
    static constexpr bool _type_is_nullable = false;                                 \
    using ContainerType = Node;                                                      \
  }

struct StmtSimplifyOptionsNode : public BaseAttrsNode {
  bool transitively_prove_inequalities = false;
  bool convert_boolean_to_and_of_ors = false;
  bool apply_constraints_to_boolean_branches = false;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.transform.StmtSimplifyConfig", StmtSimplifyOptionsNode,
                                    BaseAttrsNode);
};
TVM_TIRX_DEFINE_OPTIONS_REF(StmtSimplifyOptions, StmtSimplifyOptionsNode);

struct UnrollLoopOptionsNode : public BaseAttrsNode {
  /// Most statements that automatic unrolling may make.
  int64_t auto_max_step = 0;
  /// Deepest nest that is unrolled automatically.
  int64_t auto_max_depth = 8;
  /// Longest loop that is unrolled automatically.
  int64_t auto_max_extent = 0;
  /// Replicate the body; otherwise only mark the loop for the code generator.
  bool explicit_unroll = true;
  /// Unroll loops that index local buffers, so that those can live in registers.
  bool unroll_local_access = false;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.transform.UnrollLoopConfig", UnrollLoopOptionsNode,
                                    BaseAttrsNode);
};
TVM_TIRX_DEFINE_OPTIONS_REF(UnrollLoopOptions, UnrollLoopOptionsNode);

struct RemoveNoOpOptionsNode : public BaseAttrsNode {
  int64_t max_simplification_steps = 0;
  bool ignore_profiler_call = false;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.transform.RemoveNoOpConfig", RemoveNoOpOptionsNode,
                                    BaseAttrsNode);
};
TVM_TIRX_DEFINE_OPTIONS_REF(RemoveNoOpOptions, RemoveNoOpOptionsNode);

/// The options of `key` in the context, or the defaults.
template <typename Options>
Options GetOptions(const tvm::transform::PassContext& ctx, const char* key) {
  auto found = ctx->GetConfig<Options>(key);
  return found.has_value() ? found.value() : Options();
}

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_OPTIONS_H_
