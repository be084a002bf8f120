// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Builder of IR by nested scopes: entering a frame opens a scope, leaving it makes the node.
///
/// The builder knows nothing of dialects. A dialect derives frames, and offers functions that add
/// to the innermost frame of the builder that is current in the calling thread.
#ifndef TVM_SCRIPT_IR_BUILDER_BASE_H_
#define TVM_SCRIPT_IR_BUILDER_BASE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ir/expr.h>

#include <utility>
#include <vector>

namespace tvm::script::ir_builder {

/// One open scope. A frame is on the builder's stack from EnterWithScope to ExitWithScope.
class TVM_DLL IRBuilderFrameNode : public ffi::Object {
 public:
  /// Run, last one first, when the frame is left without an error.
  std::vector<ffi::TypedFunction<void()>> callbacks;
  /// Place in the source of the statement that opened the frame.
  Span span;

  virtual ~IRBuilderFrameNode() = default;
  /// Puts the frame on the stack of the current builder.
  virtual void EnterWithScope();
  /// Runs the callbacks and takes the frame off the stack. Overriding classes call this first and
  /// then hand what they built to the frame below.
  virtual void ExitWithScope();
  /// Runs a function when the innermost open frame is left.
  void AddCallback(ffi::TypedFunction<void()> callback);

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 32;
  TVM_FFI_DECLARE_OBJECT_INFO("script.ir_builder.IRBuilderFrame", IRBuilderFrameNode, ffi::Object);
};

class IRBuilderFrame : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IRBuilderFrame, ffi::ObjectRef, IRBuilderFrameNode);
};

class IRBuilderNode : public ffi::Object {
 public:
  ffi::Array<IRBuilderFrame> frames;
  /// What the outermost frame built.
  ffi::Optional<ffi::ObjectRef> result;
  /// Places in the source, innermost last; what is built now belongs to the last one.
  std::vector<Span> spans;

  /// Innermost open frame of that kind; null if there is none.
  template <typename Frame>
  Frame FindFrame() const {
    for (size_t i = frames.size(); i-- > 0;) {
      if (auto frame = frames[i].as<Frame>()) return *std::move(frame);
    }
    return Frame();
  }
  /// The innermost open frame if it is of that kind, else null.
  template <typename Frame>
  Frame LastFrame() const {
    if (!frames.empty()) {
      if (auto frame = frames.back().as<Frame>()) return *std::move(frame);
    }
    return Frame();
  }
  /// Sets the result; ValueError if there is one already.
  TVM_DLL void SetResult(ffi::ObjectRef value);

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.IRBuilder", IRBuilderNode, ffi::Object);
};

class IRBuilder : public ffi::ObjectRef {
 public:
  TVM_DLL static IRBuilder Create();
  /// The builder that is current in this thread; ValueError if there is none.
  TVM_DLL static IRBuilder Current();
  TVM_DLL static bool IsInScope();
  /// Innermost place in the source of the current builder; null without one.
  TVM_DLL static Span CurrentSpan();
  /// Makes this builder the current one, until the matching Exit.
  TVM_DLL void Enter() const;
  TVM_DLL void Exit() const;

  /// Names a variable (or the elements of an array `name_0`, `name_1`, ..) and returns it.
  template <typename Ref>
  static Ref Name(const ffi::String& name, Ref value) {
    NameObject(name, value);
    return value;
  }
  TVM_DLL static void NameObject(const ffi::String& name, const ffi::Any& value);
  /// How objects of one type take a name. A dialect registers its own types at start-up.
  using Namer = void (*)(const ffi::Object* object, const ffi::String& name);
  TVM_DLL static void RegisterNamer(int32_t type_index, Namer namer);

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IRBuilder, ffi::ObjectRef, IRBuilderNode);
};

}  // namespace tvm::script::ir_builder

#endif  // TVM_SCRIPT_IR_BUILDER_BASE_H_
