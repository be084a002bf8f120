// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file sites.cc
/// Builtins that keep what they made at a call site, so that a call that repeats makes no heap
/// call. The interpreter's sites lie in its frames. Native code has a register for each site, and
/// calls
///
///   vm.native.<builtin>(machine, address of the register, arguments...)
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>

#include <atomic>
#include <utility>

#include "runtime/memory/view_tensor.h"
#include "runtime/vm/vm_impl.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

bool UniqueStorage(const ffi::ObjectPtr<StorageObj>& storage) {
  if (storage.use_count() != 1) return false;
  // Orders our writes after the last use by the thread that let go of it.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

bool SameShape(const ffi::Any& memo, const int64_t* dims, int64_t ndim) {
  if (memo.type_index() != ffi::TypeIndex::kTVMFFIShape) return false;
  const TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(ViewOf(memo).v_obj);
  return static_cast<int64_t>(cell->size) == ndim &&
         (ndim == 0 || std::memcmp(cell->data, dims, sizeof(int64_t) * cell->size) == 0);
}

/// Dimensions on the stack unless there are many.
class DimsBuffer {
 public:
  explicit DimsBuffer(int64_t n) {
    if (n > kInline) heap_.resize(static_cast<size_t>(n));
    data = n > kInline ? heap_.data() : inline_;
  }
  int64_t* data;

 private:
  static constexpr int64_t kInline = 16;
  int64_t inline_[kInline];
  std::vector<int64_t> heap_;
};

}  // namespace

ffi::Any VirtualMachineImpl::AllocStorage(StorageSite* site, ffi::PackedArgs args) {
  auto dtype = args[2].cast<DLDataType>();
  auto dev_index = args[1].cast<int64_t>();
  if (dev_index == -1) dev_index = static_cast<int64_t>(devices.size()) - 1;
  TVM_REQUIRE(dev_index >= 0 && dev_index < static_cast<int64_t>(devices.size()), ValueError)
      << "alloc_storage asks for device " << dev_index << ", but the machine has " << devices.size()
      << " devices";
  auto index = static_cast<size_t>(dev_index);
  Allocator* alloc = allocators[index];
  if (args.size() > 3 && args[3] != nullptr) {
    auto scope = args[3].cast<ffi::String>();
    if (!scope.empty() && scope != "global") {
      return memory::Storage(alloc->Alloc(devices[index], args[0].cast<ffi::Shape>(), dtype,
                                          std::string(scope.data(), scope.size())),
                             alloc);
    }
  }
  size_t size = builtin::StorageBytes(args[0], dtype);
  auto make = [&] {
    return memory::Storage(alloc->Alloc(devices[index], size, kAllocAlignment, dtype), alloc);
  };
  if (!reuse_) return make();
  int empty = -1;
  for (int i = 0; i < 2; ++i) {
    StorageSite::Entry& e = site->entries[i];
    if (e.storage == nullptr) {
      empty = empty < 0 ? i : empty;
    } else if (UniqueStorage(e.storage)) {
      if (e.size == size && e.storage->allocator == alloc) return e.storage;
      // Nobody uses it and it does not fit: the shapes have changed.
      e.storage.reset();
      empty = empty < 0 ? i : empty;
    }
  }
  int slot = empty >= 0 ? empty : (site->victim ^= 1);
  memory::Storage fresh = make();
  site->entries[slot].storage = ffi::GetObjectPtr<StorageObj>(fresh.get());
  site->entries[slot].size = size;
  return fresh;
}

ffi::Any VirtualMachineImpl::MakeTuple(TupleSite* site, ffi::PackedArgs args) {
  int slot = -1;
  for (int i = 0; i < 2 && slot < 0; ++i) {
    ffi::ArrayObj* tuple = site->entries[i].get();
    if (tuple != nullptr && site->entries[i].unique() &&
        static_cast<int64_t>(tuple->size()) == args.size()) {
      slot = i;
    }
  }
  if (slot >= 0) {
    ffi::ArrayObj* tuple = site->entries[slot].get();
    for (int i = 0; i < args.size(); ++i) tuple->SetItem(i, ffi::Any(args[i]));
    return ffi::Any(ffi::GetRef<ffi::Array<ffi::Any>>(tuple));
  }
  ffi::Array<ffi::Any> fresh;
  fresh.reserve(args.size());
  for (int i = 0; i < args.size(); ++i) fresh.push_back(ffi::Any(args[i]));
  if (reuse_) {
    slot = site->entries[0] == nullptr ? 0 : site->entries[1] == nullptr ? 1 : (site->victim ^= 1);
    site->entries[slot] =
        ffi::GetObjectPtr<ffi::ArrayObj>(const_cast<ffi::ArrayObj*>(fresh.GetArrayObj()));
  }
  return fresh;
}

ffi::Any VirtualMachineImpl::AllocShapeHeap(ffi::Any* memo, int64_t size) {
  if (memo->type_index() == ffi::TypeIndex::kTVMFFITensor) {
    const DLTensor* heap = TVMFFITensorGetDLTensorPtr(ViewOf(*memo).v_obj);
    auto* object = static_cast<TVMFFIObject*>(ViewOf(*memo).v_obj);
    if (heap->shape[0] == size && (object->combined_ref_count & 0xFFFFFFFFu) == 1) return *memo;
  }
  *memo = static_cast<ffi::Tensor>(
      Tensor::Empty(ffi::Shape{size}, DLDataType{kDLInt, 64, 1}, devices.back()));
  return *memo;
}

ffi::Any VirtualMachineImpl::MakeShape(ffi::Any* memo, ffi::PackedArgs args) {
  int64_t ndim = builtin::MakeShapeRank(args);
  DimsBuffer dims(ndim);
  builtin::MakeShapeDims(args, dims.data);
  if (!SameShape(*memo, dims.data, ndim)) *memo = ffi::Shape(dims.data, dims.data + ndim);
  return *memo;
}

ffi::Any VirtualMachineImpl::ShapeOf(ffi::Any* memo, ffi::AnyView tensor) {
  const DLTensor* t = tensor.cast<DLTensor*>();
  if (!SameShape(*memo, t->shape, t->ndim)) *memo = ffi::Shape(t->shape, t->shape + t->ndim);
  return *memo;
}

namespace builtin {

ffi::Any AllocTensor(const TVMFFIAny* args) {
  auto view = [args](int i) { return ffi::AnyView::CopyFromTVMFFIAny(args[i]); };
  TVM_REQUIRE(args[0].type_index == StorageObj::RuntimeTypeIndex(), TypeError)
      << "alloc_tensor expects a Storage, got " << view(0).GetTypeKey();
  auto* storage = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<StorageObj>(args[0].v_obj);
  bool plain = args[1].type_index == ffi::TypeIndex::kTVMFFIInt &&
               args[2].type_index == ffi::TypeIndex::kTVMFFIShape &&
               args[3].type_index == ffi::TypeIndex::kTVMFFIDataType;
  if (plain && storage->buffer.device.device_type == kDLCPU) {
    const TVMFFIShapeCell* shape = TVMFFIShapeGetCellPtr(args[2].v_obj);
    DLDataType dtype = args[3].v_dtype;
    int64_t bits = static_cast<int64_t>(dtype.bits) * dtype.lanes;
    bool fits = args[1].v_int64 >= 0;
    for (size_t i = 0; i < shape->size; ++i) {
      fits &= shape->data[i] >= 0 && !__builtin_mul_overflow(bits, shape->data[i], &bits);
    }
    int64_t end = 0;
    fits = fits && !__builtin_add_overflow(bits / 8 + (bits % 8 != 0), args[1].v_int64, &end) &&
           static_cast<uint64_t>(end) <= storage->buffer.size;
    if (fits) {
      return static_cast<ffi::Tensor>(memory::MakeViewTensor(
          ffi::GetObjectPtr<ffi::Object>(storage),
          static_cast<char*>(storage->buffer.data) + args[1].v_int64, 0,
          static_cast<int>(shape->size), shape->data, dtype, storage->buffer.device));
    }
  }
  // Other devices, and what does not fit and gets its error there.
  return static_cast<ffi::Tensor>(storage->AllocTensor(
      view(1).cast<int64_t>(), view(2).cast<ffi::Shape>(), view(3).cast<DLDataType>()));
}

}  // namespace builtin

// ---- native code -----------------------------------------------------------------------------

namespace {

VirtualMachineImpl* MachineOf(ffi::PackedArgs args, int need, const char* name) {
  TVM_REQUIRE(args.size() >= need, TypeError)
      << name << " expects at least " << need << " arguments, got " << args.size();
  return static_cast<VirtualMachineImpl*>(VirtualMachine::GetContextPtr(args[0]));
}

/// The site behind the register whose address is the second argument; made at the first call.
NativeSite* SiteOf(ffi::PackedArgs args) {
  auto* reg = static_cast<ffi::Any*>(args[1].cast<void*>());
  TVM_REQUIRE(reg != nullptr, InternalError) << "a call site of native code has no register";
  if (reg->type_index() != NativeSite::RuntimeTypeIndex()) {
    *reg = ffi::ObjectRef(ffi::make_object<NativeSite>());
  }
  return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<NativeSite>(ViewOf(*reg).v_obj);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<NativeSite>(refl::init(false));
  refl::GlobalDef()
      .def_packed("vm.native.alloc_storage",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    auto* vm = MachineOf(args, 5, "vm.native.alloc_storage");
                    *rv = vm->AllocStorage(&SiteOf(args)->storages, args.Slice(2));
                  })
      .def_packed("vm.native.alloc_shape_heap",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    auto* vm = MachineOf(args, 3, "vm.native.alloc_shape_heap");
                    *rv = vm->AllocShapeHeap(&SiteOf(args)->value, args[2].cast<int64_t>());
                  })
      .def_packed("vm.native.make_tuple",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    auto* vm = MachineOf(args, 2, "vm.native.make_tuple");
                    *rv = vm->MakeTuple(&SiteOf(args)->tuples, args.Slice(2));
                  })
      .def_packed("vm.native.make_shape",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    MachineOf(args, 4, "vm.native.make_shape");
                    *rv = VirtualMachineImpl::MakeShape(&SiteOf(args)->value, args.Slice(2));
                  })
      .def_packed("vm.native.shape_of", [](ffi::PackedArgs args, ffi::Any* rv) {
        MachineOf(args, 3, "vm.native.shape_of");
        *rv = VirtualMachineImpl::ShapeOf(&SiteOf(args)->value, args[2]);
      });
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
