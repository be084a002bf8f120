// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file vm.cc
/// The machine as a module: initialization, closures, and the stateful interface.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

std::string ToStd(const ffi::String& s) { return std::string(s.data(), s.size()); }

const TVMFFIAny* Raw(ffi::PackedArgs args, int begin) {
  return reinterpret_cast<const TVMFFIAny*>(args.data()) + begin;
}

}  // namespace

VMClosure::VMClosure(ffi::String func_name, ffi::Function impl) {
  auto n = ffi::make_object<VMClosureObj>();
  n->func_name = std::move(func_name);
  n->impl = std::move(impl);
  data_ = std::move(n);
}

ffi::Function VMClosure::BindLastArgs(ffi::Function func, std::vector<ffi::Any> last_args) {
  return ffi::Function::FromPacked([func = std::move(func), last_args = std::move(last_args)](
                                       ffi::PackedArgs args, ffi::Any* rv) {
    std::vector<ffi::AnyView> all(args.data(), args.data() + args.size());
    all.insert(all.end(), last_args.begin(), last_args.end());
    func.CallPacked(all.data(), static_cast<int32_t>(all.size()), rv);
  });
}

ffi::ObjectPtr<VirtualMachine> VirtualMachine::Create() {
  return ffi::make_object<VirtualMachineImpl>();
}

// ---- initialization --------------------------------------------------------------------------

void VirtualMachineImpl::InitFromArgs(ffi::PackedArgs args) {
  TVM_REQUIRE(args.size() > 0 && args.size() % 3 == 0, ValueError)
      << "vm_initialization expects device type, device id and allocator type for each device, got "
      << args.size() << " arguments";
  std::vector<Device> devs;
  std::vector<AllocatorType> types;
  for (int i = 0; i < args.size(); i += 3) {
    devs.push_back(Device{static_cast<DLDeviceType>(args[i].cast<int>()), args[i + 1].cast<int>()});
    types.push_back(static_cast<AllocatorType>(args[i + 2].cast<int>()));
  }
  Init(devs, types);
}

void VirtualMachineImpl::Init(const std::vector<Device>& devs,
                              const std::vector<AllocatorType>& alloc_types) {
  TVM_REQUIRE(exec_ != nullptr, InternalError) << "the virtual machine has no executable";
  TVM_REQUIRE(!devs.empty() && devs.size() == alloc_types.size(), ValueError)
      << "expected one allocator type for each of at least one device, got " << devs.size()
      << " devices and " << alloc_types.size() << " types";
  devices = devs;
  std::vector<AllocatorType> types = alloc_types;
  if (devices.back().device_type != kDLCPU) {
    devices.push_back(Device{kDLCPU, 0});
    types.push_back(memory::kPooled);
  }
  allocators.clear();
  for (size_t i = 0; i < devices.size(); ++i) {
    allocators.push_back(MemoryManager::GetOrCreateAllocator(devices[i], types[i]));
  }
  reuse_ = std::find(types.begin(), types.end(), memory::kNaive) == types.end();
  LoadConstants();
  LinkFunctions();
}

// ---- closures --------------------------------------------------------------------------------

VMFunc* VirtualMachineImpl::Lookup(const std::string& func_name) {
  auto it = exec_->func_map.find(func_name);
  if (it == exec_->func_map.end() || exec_->func_table[static_cast<size_t>(it->second)].kind ==
                                         VMFuncInfo::FuncKind::kPackedFunc) {
    TVM_FFI_THROW(ValueError) << "Unknown function: " << func_name;
  }
  TVM_REQUIRE(!funcs_.empty(), RuntimeError)
      << "the virtual machine must be initialized with its devices before a call";
  return funcs_[static_cast<size_t>(it->second)].get();
}

VMClosure VirtualMachineImpl::GetClosure(const ffi::String& func_name) {
  VMFunc* func = Lookup(ToStd(func_name));
  return func_values_[static_cast<size_t>(func->index)].cast<VMClosure>();
}

void VirtualMachineImpl::InvokeClosurePacked(const ffi::ObjectRef& closure_or_packedfunc,
                                             ffi::PackedArgs args, ffi::Any* rv) {
  if (auto packed = closure_or_packedfunc.as<ffi::Function>(); packed && packed->defined()) {
    packed->CallPacked(args.data(), args.size(), rv);
    return;
  }
  const auto* closure = closure_or_packedfunc.as<VMClosureObj>();
  TVM_REQUIRE(closure != nullptr, TypeError)
      << "expected a closure or a function to call, got "
      << (closure_or_packedfunc.defined() ? closure_or_packedfunc->GetTypeKey() : "None");
  constexpr int kInline = 16;
  ffi::AnyView inline_args[kInline];
  std::vector<ffi::AnyView> heap_args;
  ffi::AnyView* all = inline_args;
  if (args.size() + 1 > kInline) {
    heap_args.resize(static_cast<size_t>(args.size()) + 1);
    all = heap_args.data();
  }
  all[0] = static_cast<void*>(static_cast<VirtualMachine*>(this));
  for (int i = 0; i < args.size(); ++i) all[i + 1] = args[i];
  closure->impl.CallPacked(all, args.size() + 1, rv);
}

void VirtualMachineImpl::SaveFunction(const ffi::String& func_name, const ffi::String& save_name,
                                      bool include_return, ffi::PackedArgs args) {
  VMFunc* func = Lookup(ToStd(func_name));
  CheckArity(func, args.size());
  std::vector<ffi::Any> bound;
  for (int i = 0; i < args.size(); ++i) bound.push_back(ConvertArg(args[i]));
  // The machine owns this function; a pointer back avoids a cycle.
  saved_[ToStd(save_name)] = ffi::Function::FromPacked(
      [this, func, include_return, bound = std::move(bound)](ffi::PackedArgs, ffi::Any* rv) {
        ffi::Any result;
        Invoke(func, reinterpret_cast<const TVMFFIAny*>(bound.data()),
               static_cast<int32_t>(bound.size()), &result);
        if (include_return) *rv = std::move(result);
      });
}

// ---- stateful interface ----------------------------------------------------------------------

void VirtualMachineImpl::SetInput(const std::string& func_name, ffi::PackedArgs args) {
  VMFunc* func = Lookup(func_name);
  CheckArity(func, args.size());
  std::vector<ffi::Any> inputs;
  inputs.reserve(static_cast<size_t>(args.size()));
  for (int i = 0; i < args.size(); ++i) inputs.push_back(ConvertArg(args[i]));
  inputs_[func_name] = std::move(inputs);
}

void VirtualMachineImpl::SetInputWithParamModule(const std::string& func_name,
                                                 ffi::PackedArgs args) {
  TVM_REQUIRE(args.size() >= 1, TypeError)
      << "set_input_with_param_module expects a module of parameters as its last argument";
  auto mod = args[args.size() - 1].cast<ffi::Module>();
  auto get_params = mod->GetFunction("get_params", true);
  TVM_REQUIRE(get_params.has_value(), ValueError)
      << "the module of parameters has no function `get_params`";
  auto params = (*get_params)().cast<ffi::Array<ffi::Any>>();
  std::vector<ffi::AnyView> all(args.data(), args.data() + args.size() - 1);
  for (const ffi::Any& p : params) all.push_back(p);
  SetInput(func_name, ffi::PackedArgs(all.data(), static_cast<int32_t>(all.size())));
}

void VirtualMachineImpl::InvokeStateful(const std::string& func_name) {
  VMFunc* func = Lookup(func_name);
  auto it = inputs_.find(func_name);
  TVM_REQUIRE(it != inputs_.end(), ValueError)
      << "No inputs set for stateful call of " << func_name << "; use `set_input` first.";
  ffi::Any result;
  Invoke(func, reinterpret_cast<const TVMFFIAny*>(it->second.data()),
         static_cast<int32_t>(it->second.size()), &result);
  outputs_[func_name] = std::move(result);
}

namespace {
ffi::Any FollowPath(ffi::Any value, ffi::PackedArgs path) {
  for (int i = 0; i < path.size(); ++i) {
    auto array = value.try_cast<ffi::Array<ffi::Any>>();
    TVM_REQUIRE(array.has_value(), ValueError) << "the output has no element at index " << i
                                               << " of the path: it is a " << value.GetTypeKey();
    auto index = path[i].cast<int64_t>();
    TVM_REQUIRE(index >= 0 && index < static_cast<int64_t>(array->size()), IndexError)
        << "output index " << index << " is out of bounds, there are " << array->size();
    value = (*array)[index];
  }
  return value;
}
}  // namespace

ffi::Any VirtualMachineImpl::GetOutput(const std::string& func_name, ffi::PackedArgs path) {
  Lookup(func_name);
  auto it = outputs_.find(func_name);
  TVM_REQUIRE(it != outputs_.end(), ValueError) << "No output saved for call of \"" << func_name
                                                << "\"; use `invoke_stateful` to call it first.";
  return FollowPath(it->second, path);
}

int64_t VirtualMachineImpl::GetOutputArity(const std::string& func_name, ffi::PackedArgs path) {
  ffi::Any value = GetOutput(func_name, path);
  if (value.type_index() != ffi::TypeIndex::kTVMFFIArray) return -1;
  return static_cast<int64_t>(value.cast<ffi::Array<ffi::Any>>().size());
}

// ---- module functions ------------------------------------------------------------------------

ffi::Optional<ffi::Function> VirtualMachineImpl::GetFunction(const ffi::String& name) {
  // Each function keeps the machine alive.
  ffi::Module keep(ffi::GetObjectPtr<ffi::ModuleObj>(this));
  auto packed = [this, keep](auto body) {
    return ffi::Function::FromPacked(
        [this, keep, body](ffi::PackedArgs args, ffi::Any* rv) { body(this, args, rv); });
  };
  auto need = [](ffi::PackedArgs args, int n, const char* what) {
    TVM_REQUIRE(args.size() >= n, TypeError)
        << what << " expects at least " << n << " arguments, got " << args.size();
  };
  using VM = VirtualMachineImpl;
  std::string key = ToStd(name);
  if (key == "vm_initialization") {
    return packed([](VM* vm, ffi::PackedArgs args, ffi::Any*) { vm->InitFromArgs(args); });
  }
  if (key == "invoke_closure") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any* rv) {
      need(args, 1, "invoke_closure");
      vm->InvokeClosurePacked(args[0].cast<ffi::ObjectRef>(), args.Slice(1), rv);
    });
  }
  if (key == "save_function") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any*) {
      need(args, 3, "save_function");
      vm->SaveFunction(args[0].cast<ffi::String>(), args[1].cast<ffi::String>(),
                       args[2].cast<bool>(), args.Slice(3));
    });
  }
  if (key == "set_input") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any*) {
      need(args, 1, "set_input");
      vm->SetInput(ToStd(args[0].cast<ffi::String>()), args.Slice(1));
    });
  }
  if (key == "set_input_with_param_module") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any*) {
      need(args, 2, "set_input_with_param_module");
      vm->SetInputWithParamModule(ToStd(args[0].cast<ffi::String>()), args.Slice(1));
    });
  }
  if (key == "invoke_stateful") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any*) {
      need(args, 1, "invoke_stateful");
      vm->InvokeStateful(ToStd(args[0].cast<ffi::String>()));
    });
  }
  if (key == "get_output") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any* rv) {
      need(args, 1, "get_output");
      *rv = vm->GetOutput(ToStd(args[0].cast<ffi::String>()), args.Slice(1));
    });
  }
  if (key == "get_output_arity") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any* rv) {
      need(args, 1, "get_output_arity");
      *rv = vm->GetOutputArity(ToStd(args[0].cast<ffi::String>()), args.Slice(1));
    });
  }
  if (key == "get_function_arity") {
    return ffi::Function::FromTyped([this, keep](const ffi::String& func) -> int64_t {
      return Lookup(ToStd(func))->info->num_args;
    });
  }
  if (key == "get_function_param_name") {
    return ffi::Function::FromTyped([this, keep](const ffi::String& func, int64_t i) {
      VMFunc* f = Lookup(ToStd(func));
      TVM_REQUIRE(i >= 0 && i < static_cast<int64_t>(f->info->param_names.size()), IndexError)
          << "Invalid param name index " << i << ", function " << func << " has "
          << f->info->param_names.size();
      return ffi::String(f->info->param_names[static_cast<size_t>(i)]);
    });
  }
  if (key == "set_instrument") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any*) {
      need(args, 1, "set_instrument");
      if (args[0].type_index() == ffi::TypeIndex::kTVMFFINone) {
        vm->SetInstrument(ffi::Function(nullptr));
      } else if (auto global = args[0].try_cast<ffi::String>()) {
        vm->SetInstrument(ffi::Function::GetGlobalRequired(*global));
      } else {
        vm->SetInstrument(args[0].cast<ffi::Function>());
      }
    });
  }
  if (key == "profile") {
    return packed([need](VM* vm, ffi::PackedArgs args, ffi::Any* rv) {
      need(args, 1, "profile");
      *rv = vm->Profile(vm->Lookup(ToStd(args[0].cast<ffi::String>())), Raw(args, 1),
                        args.size() - 1);
    });
  }
  if (auto it = saved_.find(key); it != saved_.end()) {
    ffi::Function saved = it->second;
    return packed([saved](VM*, ffi::PackedArgs args, ffi::Any* rv) {
      saved.CallPacked(args.data(), args.size(), rv);
    });
  }
  if (exec_ == nullptr) return std::nullopt;
  auto it = exec_->func_map.find(key);
  if (it == exec_->func_map.end() || exec_->func_table[static_cast<size_t>(it->second)].kind ==
                                         VMFuncInfo::FuncKind::kPackedFunc) {
    return std::nullopt;
  }
  VMFunc* func = Lookup(key);
  return packed([func](VM* vm, ffi::PackedArgs args, ffi::Any* rv) {
    vm->Invoke(func, Raw(args, 0), args.size(), rv);
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<VMClosureObj>(refl::init(false));
  refl::ObjectDef<VMExtension>(refl::init(false));
  refl::GlobalDef().def_packed("vm.profile", [](ffi::PackedArgs args, ffi::Any* rv) {
    TVM_REQUIRE(args.size() >= 2, TypeError)
        << "vm.profile expects a virtual machine and a function's name, got " << args.size()
        << " arguments";
    auto profile = args[0].cast<ffi::Module>()->GetFunction("profile", false);
    TVM_REQUIRE(profile.has_value(), TypeError) << "vm.profile expects a virtual machine";
    profile->CallPacked(args.data() + 1, args.size() - 1, rv);
  });
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
