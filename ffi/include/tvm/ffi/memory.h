// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Allocation of objects.
#ifndef TVM_FFI_MEMORY_H_
#define TVM_FFI_MEMORY_H_

#include <tvm/ffi/object.h>
#include <tvm/ffi/thread_state.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Deleter stored in object headers; flags are TVMFFIObjectDeleterFlagBitMask.
using FObjectDeleter = void (*)(void* self, int flags);

namespace detail {

/// Throws std::bad_alloc on failure; pairs with AlignedFree<align>.
template <size_t align>
TVM_FFI_INLINE void* AlignedAlloc(size_t size) {
  static_assert(align != 0 && (align & (align - 1)) == 0, "alignment must be a power of two");
  if constexpr (align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    return ::operator new(size);
  } else {
    return ::operator new(size, std::align_val_t(align));
  }
}

template <size_t align>
TVM_FFI_INLINE void AlignedFree(void* data) noexcept {
  if constexpr (align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    ::operator delete(data);
  } else {
    ::operator delete(data, std::align_val_t(align));
  }
}

/// Destruction put off by DestroyBounded.
struct DeferredDestroy {
  TVMFFIObject* header;
  FObjectDeleter deleter;
  int flags;
  DeferredDestroy* next;
};

TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void DeferDestroy(ThreadState* state,
                                                             TVMFFIObject* header, int flags,
                                                             FObjectDeleter deleter) {
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) {
    // The caller is about to drop the weak reference that stands for the strong ones.
    ObjectUnsafe::IncWeakRefObjectHandle(header);
  }
  state->pending = new DeferredDestroy{header, deleter, flags, state->pending};
}

TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void DrainDeferred(ThreadState* state) {
  state->draining = 1;
  while (state->pending != nullptr) {
    const DeferredDestroy item = *state->pending;
    delete state->pending;
    state->pending = item.next;
    item.deleter(item.header, item.flags);
    if ((item.flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) {
      ObjectUnsafe::DecWeakRefObjectHandle(item.header);
    }
  }
  state->draining = 0;
}

/// Body of a deleter. A chain of objects is destroyed link inside link; beyond some depth the rest
/// waits until the outermost destructor is done, so that no chain is too long for the stack (where
/// the loaded library keeps a state of threads).
template <typename FDestroy, typename FFree>
TVM_FFI_INLINE void DestroyBounded(void* self, int flags, FObjectDeleter deleter, FDestroy destroy,
                                   FFree free) {
  constexpr int32_t kMaxDepth = 128;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) == 0) {
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free();
    return;
  }
  ThreadState* state = CurrentThreadState();
  if (state == nullptr) {
    destroy();
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free();
    return;
  }
  if (state->destroy_depth >= kMaxDepth) {
    DeferDestroy(state, static_cast<TVMFFIObject*>(self), flags, deleter);
    return;
  }
  ++state->destroy_depth;
  destroy();
  --state->destroy_depth;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free();
  if (state->destroy_depth == 0 && state->pending != nullptr && state->draining == 0) {
    DrainDeferred(state);
  }
}

/// Creates and destroys one T in memory of `sizeof(T) + extra` bytes.
template <typename T>
struct ObjectStorage {
  template <typename... Args>
  static ObjectPtr<T> New(size_t extra_bytes, Args&&... args) {
    // Frees the memory if the constructor throws.
    struct Guard {
      void* memory;
      ~Guard() {
        if (memory != nullptr) AlignedFree<alignof(T)>(memory);
      }
    } guard{AlignedAlloc<alignof(T)>(sizeof(T) + extra_bytes)};
    T* object = ::new (guard.memory) T(std::forward<Args>(args)...);
    guard.memory = nullptr;
    TVMFFIObject* header = ObjectUnsafe::GetHeader(object);
    header->combined_ref_count = kCombinedRefCountBothOne;
    header->type_index = T::RuntimeTypeIndex();
    header->__padding = 0;
    header->deleter = Delete;
    return ObjectUnsafe::ObjectPtrFromOwned<T>(static_cast<Object*>(object));
  }

  static void Delete(void* header, int flags) {
    T* object = ObjectUnsafe::RawObjectPtrFromUnowned<T>(static_cast<TVMFFIObject*>(header));
    if constexpr (std::is_trivially_destructible_v<T>) {
      if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) AlignedFree<alignof(T)>(object);
    } else {
      DestroyBounded(
          header, flags, Delete, [object] { object->T::~T(); },
          [object] { AlignedFree<alignof(T)>(object); });
    }
  }
};

}  // namespace detail

/// Allocates a T on the heap with one strong reference.
template <typename T, typename... Args>
inline ObjectPtr<T> make_object(Args&&... args) {
  static_assert(std::is_base_of_v<Object, T>, "make_object creates objects");
  return detail::ObjectStorage<T>::New(0, std::forward<Args>(args)...);
}

template <typename T, typename... Args>
inline Arc<T> make_arc(Args&&... args) {
  return detail::ObjectUnsafe::ArcFromObjectPtr<T>(make_object<T>(std::forward<Args>(args)...));
}

/// Allocates an ArrayType followed by uninitialised room for `num_elems` ElemType values, which
/// ArrayType itself constructs and destroys.
template <typename ArrayType, typename ElemType, typename... Args>
inline ObjectPtr<ArrayType> make_inplace_array_object(size_t num_elems, Args&&... args) {
  static_assert(
      alignof(ArrayType) % alignof(ElemType) == 0 && sizeof(ArrayType) % alignof(ElemType) == 0,
      "elements behind the object would be misaligned");
  return detail::ObjectStorage<ArrayType>::New(num_elems * sizeof(ElemType),
                                               std::forward<Args>(args)...);
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_MEMORY_H_
