// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Passes over single PrimFuncs as passes over modules.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/transform.h>

#include <utility>

namespace tvm {
namespace tirx {
namespace transform {

class PrimFuncPassNode : public tvm::transform::PassNode {
 public:
  PrimFuncPassNode() = default;
  PrimFuncPassNode(PrimFuncPassFn run, PassInfo info) {
    pass_info = std::move(info);
    body_ = [run = std::move(run)](const PassNode*, IRModule mod, const PassContext& ctx) {
      return tvm::transform::MapFunctions<PrimFunc>(
          std::move(mod), [&](const IRModule& whole, const GlobalVar&, PrimFunc func) {
            return run(std::move(func), whole, ctx);
          });
    };
  }

  static void RegisterReflection() {
    namespace refl = ffi::reflection;
    refl::ObjectDef<PrimFuncPassNode>(refl::init(false));
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.PrimFuncPass", PrimFuncPassNode,
                                    tvm::transform::PassNode);
};

Pass CreatePrimFuncPass(PrimFuncPassFn run, int opt_level, ffi::String name,
                        ffi::Array<ffi::String> required) {
  return Pass(ffi::make_object<PrimFuncPassNode>(
      std::move(run), PassInfo(opt_level, std::move(name), std::move(required))));
}

PrimFuncPassRegistration::PrimFuncPassRegistration(const PrimFuncPassSpec& spec) : spec_(spec) {
  tvm::transform::RegisterPassFactory(spec.name, spec.summary, [this] { return Create(); });
}

Pass PrimFuncPassRegistration::Create() const {
  auto run = spec_.run;
  return CreatePrimFuncPass([run](PrimFunc func, const IRModule&,
                                  const PassContext& ctx) { return run(std::move(func), ctx); },
                            spec_.opt_level, spec_.name);
}

Pass Apply(std::function<PrimFunc(PrimFunc)> func) {
  return CreatePrimFuncPass(
      [func](PrimFunc f, const IRModule&, const PassContext&) { return func(std::move(f)); }, 0,
      "tirx.Apply");
}

Pass Filter(std::function<bool(PrimFunc)> keep) {
  return CreatePrimFuncPass(
      [keep](PrimFunc f, const IRModule&, const PassContext&) {
        return keep(f) ? f : PrimFunc(ffi::ObjectPtr<PrimFuncNode>(nullptr));
      },
      0, "tirx.Filter");
}

namespace {

void RequireArgument(bool given, const char* function, const char* argument, const char* what) {
  if (given) return;
  TVM_FFI_THROW(TypeError) << function << ": argument `" << argument << "` must be " << what
                           << ", got None";
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  PrimFuncPassNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.transform.CreatePrimFuncPass",
           [](ffi::Function func, PassInfo info) {
             const char* name = "tirx.transform.CreatePrimFuncPass";
             RequireArgument(func.defined(), name, "pass_func", "a function");
             RequireArgument(info.defined(), name, "info", "a PassInfo");
             return Pass(ffi::make_object<PrimFuncPassNode>(
                 [func](PrimFunc f, const IRModule& mod, const PassContext& ctx) {
                   return func(f, mod, ctx).cast<PrimFunc>();
                 },
                 info));
           })
      .def("tirx.transform.Apply",
           [](ffi::Function func) {
             RequireArgument(func.defined(), "tirx.transform.Apply", "ftransform", "a function");
             return Apply([func](PrimFunc f) { return func(f).cast<PrimFunc>(); });
           })
      .def("tirx.transform.Filter", [](ffi::Function keep) {
        RequireArgument(keep.defined(), "tirx.transform.Filter", "fcond", "a function");
        return Filter([keep](PrimFunc f) { return keep(f).cast<bool>(); });
      });
}

}  // namespace transform
}  // namespace tirx
}  // namespace tvm
