// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file builtin.cc
/// Builtins for storage, tuples, closures, conversions and debugging, as global functions
/// `vm.builtin.*`. Those about shapes and types are in builtin_shape.cc.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/memory/view_tensor.h"
#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

std::string ToStd(const ffi::String& s) { return std::string(s.data(), s.size()); }

void NeedArgs(ffi::PackedArgs args, int n, const char* name) {
  TVM_REQUIRE(args.size() >= n, TypeError)
      << name << " expects at least " << n << " arguments, got " << args.size();
}

void AllocStorageBuiltin(ffi::PackedArgs args, ffi::Any* rv) {
  NeedArgs(args, 4, "vm.builtin.alloc_storage");
  VirtualMachine* vm = VirtualMachine::GetContextPtr(args[0]);
  auto shape = args[1].cast<ffi::Shape>();
  auto dev_index = args[2].cast<int64_t>();
  auto dtype = args[3].cast<DLDataType>();
  std::string scope =
      args.size() > 4 && args[4] != nullptr ? ToStd(args[4].cast<ffi::String>()) : "";
  auto count = static_cast<int64_t>(vm->devices.size());
  if (dev_index == -1) dev_index = count - 1;
  TVM_REQUIRE(dev_index >= 0 && dev_index < count, ValueError)
      << "alloc_storage asks for device " << dev_index << ", but the machine has " << count
      << " devices";
  auto i = static_cast<size_t>(dev_index);
  *rv = memory::Storage(vm->allocators[i]->Alloc(vm->devices[i], shape, dtype, scope),
                        vm->allocators[i]);
}

void AllocTensorBuiltin(ffi::PackedArgs args, ffi::Any* rv) {
  NeedArgs(args, 4, "vm.builtin.alloc_tensor");
  if (args.size() == 4) {
    *rv = builtin::AllocTensor(reinterpret_cast<const TVMFFIAny*>(args.data()));
    return;
  }
  auto storage = args[0].cast<memory::Storage>();
  TVM_REQUIRE(storage.defined(), TypeError) << "alloc_tensor expects a Storage, got None";
  auto offset = args[1].cast<int64_t>();
  auto shape = args[2].cast<ffi::Shape>();
  auto dtype = args[3].cast<DLDataType>();
  ffi::String scope = "global";
  if (args.size() > 4 && args[4] != nullptr) scope = args[4].cast<ffi::String>();
  *rv = static_cast<ffi::Tensor>(
      storage->AllocTensorScoped(offset, std::move(shape), dtype, std::move(scope)));
}

/// Appends a function's dynamic shape as integers: call_tir_dyn(f, args..., shape).
void CallTIRDyn(ffi::PackedArgs args, ffi::Any* rv) {
  NeedArgs(args, 2, "vm.builtin.call_tir_dyn");
  auto func = args[0].cast<ffi::Function>();
  auto shape = args[args.size() - 1].cast<ffi::Shape>();
  int plain = args.size() - 2;
  constexpr int kInline = 32;
  ffi::AnyView inline_args[kInline];
  std::vector<ffi::AnyView> heap_args;
  ffi::AnyView* all = inline_args;
  int total = plain + static_cast<int>(shape.size());
  if (total > kInline) {
    heap_args.resize(static_cast<size_t>(total));
    all = heap_args.data();
  }
  for (int i = 0; i < plain; ++i) all[i] = args[i + 1];
  for (size_t i = 0; i < shape.size(); ++i) all[plain + static_cast<int>(i)] = shape[i];
  func.CallPacked(all, total, rv);
}

void MakeClosure(ffi::PackedArgs args, ffi::Any* rv) {
  NeedArgs(args, 1, "vm.builtin.make_closure");
  auto closure = args[0].cast<VMClosure>();
  TVM_REQUIRE(closure.defined(), TypeError) << "make_closure expects a closure, got None";
  std::vector<ffi::Any> saved;
  for (int i = 1; i < args.size(); ++i) saved.emplace_back(args[i]);
  *rv = VMClosure(closure->func_name, VMClosure::BindLastArgs(closure->impl, std::move(saved)));
}

void InvokeClosure(ffi::PackedArgs args, ffi::Any* rv) {
  NeedArgs(args, 2, "vm.builtin.invoke_closure");
  VirtualMachine::GetContextPtr(args[0])->InvokeClosurePacked(args[1].cast<ffi::ObjectRef>(),
                                                              args.Slice(2), rv);
}

ffi::Tensor ToDevice(ffi::PackedArgs args) {
  NeedArgs(args, 3, "vm.builtin.to_device");
  Tensor tensor(args[0].cast<ffi::Tensor>());
  Device dev{static_cast<DLDeviceType>(args[1].cast<int>()), args[2].cast<int>()};
  ffi::Optional<ffi::String> scope;
  if (args.size() > 3 && args[3] != nullptr) scope = args[3].cast<ffi::String>();
  bool scoped = scope.has_value() && !scope.value().empty() && scope.value() != "global";
  if (!scoped && tensor->device.device_type == dev.device_type &&
      tensor->device.device_id == dev.device_id) {
    return tensor;
  }
  return tensor.CopyTo(dev, scope);
}

ffi::Tensor EnsureZeroOffset(ffi::Tensor t) {
  Tensor tensor(std::move(t));
  if (tensor->byte_offset == 0) return tensor;
  DeviceAPI* api = DeviceAPI::Get(tensor->device);
  if (api->SupportsDevicePointerArithmeticsOnHost()) {
    return tensor.CreateView(ffi::Shape(tensor->shape, tensor->shape + tensor->ndim),
                             tensor->dtype);
  }
  return tensor.CopyTo(tensor->device);
}

void InvokeDebugFunc(ffi::PackedArgs args, ffi::Any* rv) {
  NeedArgs(args, 3, "vm.builtin.invoke_debug_func");
  auto name = args[1].cast<ffi::String>();
  auto func = ffi::Function::GetGlobal(name);
  TVM_REQUIRE(func.has_value(), ValueError)
      << name << " is not found. Register it as a global function before the call.";
  ffi::Any ignored;
  func->CallPacked(args.data() + 2, args.size() - 2, &ignored);
  *rv = args[0];
}

ffi::Any TupleGetItem(ffi::AnyView tuple, int64_t index) {
  auto array = tuple.cast<ffi::Array<ffi::Any>>();
  TVM_REQUIRE(index >= 0 && index < static_cast<int64_t>(array.size()), IndexError)
      << "tuple index " << index << " is out of bounds, there are " << array.size();
  return array[index];
}

/// Drops the tuple's reference to one element, in place.
void TupleResetItem(const ffi::ArrayObj* tuple, int64_t index) {
  TVM_REQUIRE(index >= 0 && index < static_cast<int64_t>(tuple->size()), IndexError)
      << "tuple index " << index << " is out of bounds, there are " << tuple->size();
  const_cast<ffi::ArrayObj*>(tuple)->SetItem(index, ffi::Any());
}

}  // namespace

namespace builtin {

ffi::Tensor Reshape(const ffi::Tensor& t, const ffi::Shape& shape) {
  const DLTensor* d = t.GetDLTensorPtr();
  int64_t count = 1;
  bool fits = d->device.device_type == kDLCPU && ffi::IsContiguous(*d);
  for (int64_t extent : shape)
    fits &= extent >= 0 && !__builtin_mul_overflow(count, extent, &count);
  if (fits && count == t.numel()) {
    return memory::MakeViewTensor(
        ffi::GetObjectPtr<ffi::Object>(
            const_cast<ffi::TensorObj*>(static_cast<const ffi::TensorObj*>(t.get()))),
        d->data, d->byte_offset, static_cast<int>(shape.size()), shape.data(), d->dtype, d->device);
  }
  // Other devices, and what does not fit and gets its error there.
  return Tensor(t).CreateView(shape, d->dtype);
}

bool ReadIfCond(ffi::AnyView cond) {
  if (auto v = cond.try_cast<bool>()) return *v;
  Tensor tensor(cond.cast<ffi::Tensor>());
  if (tensor->device.device_type != kDLCPU) tensor = tensor.CopyTo(Device{kDLCPU, 0});
  const DLTensor* t = tensor.GetDLTensorPtr();
  TVM_REQUIRE(ffi::GetDataSize(*t) * 8 == static_cast<size_t>((t->dtype.bits + 7) / 8 * 8) &&
                  t->dtype.lanes == 1,
              ValueError)
      << "an if condition needs one element, got a tensor of rank " << t->ndim << " and type "
      << runtime::DataType(t->dtype);
  const char* data = static_cast<const char*>(t->data) + t->byte_offset;
  TVM_REQUIRE(t->dtype.code == kDLInt || t->dtype.code == kDLUInt || t->dtype.code == kDLBool,
              ValueError)
      << "an if condition needs a boolean or an integer, got " << runtime::DataType(t->dtype);
  size_t nbytes = static_cast<size_t>((t->dtype.bits + 7) / 8);
  for (size_t i = 0; i < nbytes; ++i) {
    if (data[i] != 0) return true;
  }
  return false;
}

size_t StorageBytes(ffi::AnyView shape_view, DLDataType dtype) {
  auto shape = shape_view.cast<ffi::Shape>();
  int64_t n = 1;
  for (int64_t d : shape) {
    TVM_REQUIRE(d >= 0 && !__builtin_mul_overflow(n, d, &n), ValueError)
        << "cannot allocate a storage of shape " << shape;
  }
  return ffi::GetDataSize(static_cast<size_t>(n), dtype);
}

}  // namespace builtin

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def_packed("vm.builtin.alloc_storage", AllocStorageBuiltin)
      .def_packed("vm.builtin.alloc_tensor", AllocTensorBuiltin)
      .def_packed("vm.builtin.call_tir_dyn", CallTIRDyn)
      .def_packed("vm.builtin.make_closure", MakeClosure)
      .def_packed("vm.builtin.invoke_closure", InvokeClosure)
      .def_packed("vm.builtin.make_tuple",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    ffi::Array<ffi::Any> tuple;
                    for (int i = 0; i < args.size(); ++i) tuple.push_back(ffi::Any(args[i]));
                    *rv = std::move(tuple);
                  })
      .def("vm.builtin.tuple_getitem", TupleGetItem)
      .def("vm.builtin.tuple_reset_item", TupleResetItem)
      .def("vm.builtin.copy", [](ffi::AnyView value) { return ffi::Any(value); })
      .def("vm.builtin.null_value", []() -> ffi::Any { return nullptr; })
      .def("vm.builtin.reshape", builtin::Reshape)
      .def("vm.builtin.read_if_cond", builtin::ReadIfCond)
      .def_packed("vm.builtin.to_device",
                  [](ffi::PackedArgs args, ffi::Any* rv) { *rv = ToDevice(args); })
      .def("vm.builtin.ensure_zero_offset", EnsureZeroOffset)
      .def_packed("vm.builtin.invoke_debug_func", InvokeDebugFunc);
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
