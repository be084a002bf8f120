// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Hooks around passes.
#ifndef TVM_IR_INSTRUMENT_H_
#define TVM_IR_INSTRUMENT_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/fwd.h>
#include <tvm/ir/module.h>

namespace tvm::instrument {

/// A set of optional callbacks; a null one is skipped.
class PassInstrumentNode : public ffi::Object {
 public:
  ffi::String name;
  ffi::Optional<ffi::Function> enter_pass_ctx;
  ffi::Optional<ffi::Function> exit_pass_ctx;
  /// (module, pass info) -> bool
  ffi::Optional<ffi::Function> should_run;
  ffi::Optional<ffi::Function> run_before_pass;
  ffi::Optional<ffi::Function> run_after_pass;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("instrument.PassInstrument", PassInstrumentNode, ffi::Object);
};

class PassInstrument : public ffi::ObjectRef {
 public:
  TVM_DLL PassInstrument(ffi::String name, ffi::Optional<ffi::Function> enter_pass_ctx,
                         ffi::Optional<ffi::Function> exit_pass_ctx,
                         ffi::Optional<ffi::Function> should_run,
                         ffi::Optional<ffi::Function> run_before_pass,
                         ffi::Optional<ffi::Function> run_after_pass);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PassInstrument, ffi::ObjectRef, PassInstrumentNode);
};

/// Collects the time of every pass of this thread between enter and exit of the context.
TVM_DLL PassInstrument PassTimingInstrument();
/// Text of the collected times: one line a pass, indented by nesting.
TVM_DLL ffi::String RenderTimePassProfiles();
/// Logs the module before and after each pass.
TVM_DLL PassInstrument PrintBeforeAll();
TVM_DLL PassInstrument PrintAfterAll();
/// Writes dir/{index}_{pass}.py after each pass; `refresh` empties earlier numbered dumps first.
TVM_DLL PassInstrument DumpIR(const ffi::String& dump_dir, bool refresh = false);

}  // namespace tvm::instrument
#endif  // TVM_IR_INSTRUMENT_H_
