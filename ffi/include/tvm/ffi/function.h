// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Function`, a callable of any language; `TypedFunction`, the same with a C++ signature; the
/// table of global functions; and macros that export C++ functions from a library.
#ifndef TVM_FFI_FUNCTION_H_
#define TVM_FFI_FUNCTION_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function_detail.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {

class PackedArgs;
template <typename FType>
class TypedFunction;

class FunctionObj : public Object, public TVMFFIFunctionCell {
 public:
  /// C++ callees; may throw.
  using FCall = void (*)(const FunctionObj*, const AnyView*, int32_t, Any*);

  /// Calls without passing through C error codes when the callee is C++.
  TVM_FFI_INLINE void CallPacked(const AnyView* args, int32_t num_args, Any* result) const {
    if (TVM_FFI_PREDICT_TRUE(cpp_call != nullptr)) {
      reinterpret_cast<FCall>(cpp_call)(this, args, num_args, result);
      return;
    }
    TVM_FFI_CHECK_SAFE_CALL(safe_call(const_cast<FunctionObj*>(this),
                                      reinterpret_cast<const TVMFFIAny*>(args), num_args,
                                      reinterpret_cast<TVMFFIAny*>(result)));
  }

  static constexpr uint32_t _type_index = TypeIndex::kTVMFFIFunction;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIFunction, FunctionObj, Object);

 protected:
  FunctionObj() : TVMFFIFunctionCell{nullptr, nullptr} {}
};

/// View of call arguments.
class PackedArgs {
 public:
  PackedArgs(const AnyView* data, int32_t size) : data_(data), size_(size) {}
  int size() const { return size_; }
  const AnyView* data() const { return data_; }
  /// Arguments [begin, end); `end` -1 means all.
  PackedArgs Slice(int begin, int end = -1) const {
    return PackedArgs(data_ + begin, (end == -1 ? size_ : end) - begin);
  }
  AnyView operator[](int i) const { return data_[i]; }
  /// Writes views of `args`, which must outlive the call, to `data`.
  template <typename... Args>
  TVM_FFI_INLINE static void Fill(AnyView* data, Args&&... args);

 private:
  const AnyView* data_;
  int32_t size_;
};

namespace detail {

/// Writes one argument at a time, for helpers that build argument lists in steps.
class PackedArgsSetter {
 public:
  explicit PackedArgsSetter(AnyView* args) : args_(args) {}
  template <typename T>
  TVM_FFI_INLINE void operator()(size_t i, T&& value) const {
    args_[i] = AnyView(value);
  }

 private:
  AnyView* args_;
};

/// Function object around a C++ callable that takes (const AnyView*, int32_t, Any*) or
/// (PackedArgs, Any*).
template <typename TCallable>
class FunctionObjImpl : public FunctionObj {
 public:
  using TSelf = FunctionObjImpl<TCallable>;
  template <typename... Args>
  explicit FunctionObjImpl(Args&&... args) : callable_(std::forward<Args>(args)...) {
    safe_call = SafeCall;
    cpp_call = reinterpret_cast<void*>(static_cast<FCall>(CppCall));
  }
  FunctionObjImpl(const FunctionObjImpl&) = delete;
  FunctionObjImpl& operator=(const FunctionObjImpl&) = delete;

  TCallable* GetCallable() { return &callable_; }

 private:
  /// The body, once for both entries; false after an error that is set aside. The handler stands in
  /// the frame of the callable's arguments: destroying them and catching is one landing then, which
  /// makes an error a third cheaper.
  static bool Run(const FunctionObj* self, const AnyView* args, int32_t num_args, Any* result,
                  bool rethrow) {
    // Callables may keep mutable state: a Function is shared by identity.
    TCallable& callable = const_cast<TSelf*>(static_cast<const TSelf*>(self))->callable_;
    try {
      if constexpr (std::is_invocable_v<TCallable&, const AnyView*, int32_t, Any*>) {
        callable(args, num_args, result);
      } else {
        callable(PackedArgs(args, num_args), result);
      }
      return true;
    } catch (const Error& error) {
      if (rethrow) throw;
      SetSafeCallRaisedFromError(error);
    } catch (...) {
      if (rethrow) throw;
      SetSafeCallRaisedFromCurrentException();
    }
    return false;
  }

  /// Keeps a frame of its own (no tail call): backtraces end here, see extra/backtrace.cc.
  static int SafeCall(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    return Run(static_cast<const FunctionObj*>(static_cast<Object*>(self)),
               reinterpret_cast<const AnyView*>(args), num_args, reinterpret_cast<Any*>(result),
               false)
               ? 0
               : -1;
  }

  static void CppCall(const FunctionObj* self, const AnyView* args, int32_t num_args, Any* result) {
    Run(self, args, num_args, result, true);
  }

  TCallable callable_;
};

template <typename TCallable>
inline constexpr bool is_packed_callable_v =
    std::is_invocable_v<TCallable&, const AnyView*, int32_t, Any*> ||
    std::is_invocable_v<TCallable&, PackedArgs, Any*>;

/// Finds a global function; null pointer when missing.
inline ObjectPtr<FunctionObj> LookupGlobal(std::string_view name) {
  const TVMFFIByteArray key{name.data(), name.size()};
  TVMFFIObjectHandle handle = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionGetGlobal(&key, &handle));
  return ObjectUnsafe::ObjectPtrFromOwned<FunctionObj>(static_cast<TVMFFIObject*>(handle));
}

}  // namespace detail

class Function : public ObjectRef {
 public:
  Function(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  /// Wraps a packed callable, see FromPacked.
  template <typename TCallable,
            typename = std::enable_if_t<!std::is_base_of_v<ObjectRef, std::decay_t<TCallable>> &&
                                        detail::is_packed_callable_v<std::decay_t<TCallable>>>>
  explicit Function(TCallable&& packed_call)
      : Function(FromPacked(std::forward<TCallable>(packed_call))) {}

  /// Wraps a callable (const AnyView* args, int32_t n, Any* result) or (PackedArgs, Any*).
  template <typename TCallable>
  static Function FromPacked(TCallable&& packed_call) {
    using Callable = std::decay_t<TCallable>;
    static_assert(detail::is_packed_callable_v<Callable>,
                  "a packed callable takes (const AnyView*, int32_t, Any*) or (PackedArgs, Any*)");
    return FromObject(
        make_object<detail::FunctionObjImpl<Callable>>(std::forward<TCallable>(packed_call)));
  }
  /// Constructs the packed callable inside the function; returns {function, callable pointer}.
  template <typename TCallable, typename... Args>
  static auto FromPackedInplace(Args&&... args) {
    static_assert(detail::is_packed_callable_v<TCallable>,
                  "a packed callable takes (const AnyView*, int32_t, Any*) or (PackedArgs, Any*)");
    auto object = make_object<detail::FunctionObjImpl<TCallable>>(std::forward<Args>(args)...);
    TCallable* callable = object->GetCallable();
    return std::make_pair(FromObject(std::move(object)), callable);
  }
  /// Wraps a C callee. `deleter(self)`, if given, runs when the function dies.
  static Function FromExternC(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void*)) {
    TVMFFIObjectHandle handle = nullptr;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionCreate(self, safe_call, deleter, &handle));
    return FromObject(
        detail::ObjectUnsafe::ObjectPtrFromOwned<FunctionObj>(static_cast<TVMFFIObject*>(handle)));
  }
  /// Wraps a typed callable; arguments are checked and converted on each call.
  template <typename TCallable>
  static Function FromTyped(TCallable&& callable) {
    return FromPacked(TypedCaller<std::decay_t<TCallable>>{std::forward<TCallable>(callable)});
  }
  /// `name` appears in error messages.
  template <typename TCallable>
  static Function FromTyped(TCallable&& callable, std::string name) {
    return FromPacked(NamedTypedCaller<std::decay_t<TCallable>>{std::forward<TCallable>(callable),
                                                                std::move(name)});
  }

  static std::optional<Function> GetGlobal(std::string_view name) {
    ObjectPtr<FunctionObj> found = detail::LookupGlobal(name);
    if (found == nullptr) return std::nullopt;
    return FromObject(std::move(found));
  }
  static std::optional<Function> GetGlobal(const std::string& name) {
    return GetGlobal(std::string_view(name));
  }
  static std::optional<Function> GetGlobal(const String& name) { return GetGlobal(name.view()); }
  static std::optional<Function> GetGlobal(const char* name) {
    return GetGlobal(std::string_view(name));
  }
  /// Throws ValueError when missing.
  static Function GetGlobalRequired(std::string_view name) {
    ObjectPtr<FunctionObj> found = detail::LookupGlobal(name);
    if (TVM_FFI_PREDICT_FALSE(found == nullptr)) {
      TVM_FFI_THROW(ValueError) << "Function " << name << " not found";
    }
    return FromObject(std::move(found));
  }
  static Function GetGlobalRequired(const std::string& name) {
    return GetGlobalRequired(std::string_view(name));
  }
  static Function GetGlobalRequired(const String& name) { return GetGlobalRequired(name.view()); }
  static Function GetGlobalRequired(const char* name) {
    return GetGlobalRequired(std::string_view(name));
  }
  static void SetGlobal(std::string_view name, Function func, bool override = false) {
    const TVMFFIByteArray key{name.data(), name.size()};
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionSetGlobal(
        &key, detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(func), override ? 1 : 0));
  }
  static std::vector<String> ListGlobalNames();
  static void RemoveGlobal(const String& name) {
    static Function remove = GetGlobalRequired("ffi.FunctionRemoveGlobal");
    remove(name);
  }

  /// Calls a C entry point directly.
  template <typename... Args>
  static Any InvokeExternC(void* handle, TVMFFISafeCallType safe_call, Args&&... args) {
    AnyView packed[sizeof...(Args) == 0 ? 1 : sizeof...(Args)];
    PackedArgs::Fill(packed, args...);
    Any result;
    TVM_FFI_CHECK_SAFE_CALL(safe_call(handle, reinterpret_cast<const TVMFFIAny*>(packed),
                                      static_cast<int32_t>(sizeof...(Args)),
                                      reinterpret_cast<TVMFFIAny*>(&result)));
    return result;
  }

  template <typename... Args>
  TVM_FFI_INLINE Any operator()(Args&&... args) const {
    AnyView packed[sizeof...(Args) == 0 ? 1 : sizeof...(Args)];
    PackedArgs::Fill(packed, args...);
    Any result;
    get()->CallPacked(packed, static_cast<int32_t>(sizeof...(Args)), &result);
    return result;
  }
  void CallPacked(const AnyView* args, int32_t num_args, Any* result) const {
    get()->CallPacked(args, num_args, result);
  }
  void CallPacked(PackedArgs args, Any* result) const {
    get()->CallPacked(args.data(), args.size(), result);
  }
  /// Calls without throwing: a failure, also of the result conversion, is the error state.
  template <typename T = Any, typename... Args>
  Expected<T> CallExpected(Args&&... args) const {
    AnyView packed[sizeof...(Args) == 0 ? 1 : sizeof...(Args)];
    PackedArgs::Fill(packed, args...);
    Any result;
    const int status = get()->safe_call(
        const_cast<FunctionObj*>(get()), reinterpret_cast<const TVMFFIAny*>(packed),
        static_cast<int32_t>(sizeof...(Args)), reinterpret_cast<TVMFFIAny*>(&result));
    if (TVM_FFI_PREDICT_FALSE(status != 0)) {
      return Expected<T>(status == -2 ? EnvErrorAlreadySet() : detail::MoveFromSafeCallRaised());
    }
    return ResultAs<T>(std::move(result));
  }

  bool operator==(std::nullptr_t) const { return data_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return data_ != nullptr; }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Function, ObjectRef, FunctionObj);

 private:
  static Function FromObject(ObjectPtr<FunctionObj> object) { return Function(std::move(object)); }

  template <typename TCallable>
  TVM_FFI_INLINE static void CallTyped(const std::string* name, TCallable& callable,
                                       const AnyView* args, int32_t num_args, Any* rv) {
    using FuncInfo = detail::FunctionInfo<TCallable>;
    detail::unpack_call<typename FuncInfo::RetType>(std::make_index_sequence<FuncInfo::num_args>{},
                                                    name, callable, args, num_args, rv);
  }

  template <typename TCallable>
  struct TypedCaller {
    TCallable callable;
    TVM_FFI_INLINE void operator()(const AnyView* args, int32_t num_args, Any* rv) {
      CallTyped(nullptr, callable, args, num_args, rv);
    }
  };
  template <typename TCallable>
  struct NamedTypedCaller {
    TCallable callable;
    std::string name;
    TVM_FFI_INLINE void operator()(const AnyView* args, int32_t num_args, Any* rv) {
      CallTyped(&name, callable, args, num_args, rv);
    }
  };

  template <typename T>
  static Expected<T> ResultAs(Any result) {
    if (result.as<ErrorObj>() != nullptr) return *std::move(result).as<Error>();
    if constexpr (std::is_void_v<T>) {
      return Expected<void>();
    } else if constexpr (std::is_same_v<T, Any>) {
      return Expected<Any>(std::move(result));
    } else {
      const AnyView view = result;
      if (detail::AnyUnsafe::CheckAnyViewStrict<T>(view)) {
        return detail::ExpectedUnsafe::FromAny<T>(std::move(result));
      }
      if (std::optional<T> value = view.try_cast<T>()) return Expected<T>(*std::move(value));
      const TVMFFIAny raw = view.CopyToTVMFFIAny();
      return Error("TypeError",
                   "CallExpected: result type mismatch, expected `" + detail::Type2Str<T>::v() +
                       "`, got `" + TypeTraits<T>::GetMismatchTypeInfo(&raw) + "`",
                   detail::FormatFrame(__FILE__, __LINE__, TVM_FFI_FUNC_SIG));
    }
  }
};

template <typename... Args>
TVM_FFI_INLINE void PackedArgs::Fill(AnyView* data, Args&&... args) {
  detail::for_each(detail::PackedArgsSetter(data), std::forward<Args>(args)...);
}

inline std::vector<String> Function::ListGlobalNames() {
  Function names = GetGlobalRequired("ffi.FunctionListGlobalNamesFunctor")().cast<Function>();
  const int64_t count = names(-1).cast<int64_t>();
  std::vector<String> result;
  result.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) result.push_back(names(i).cast<String>());
  return result;
}

/// Function with a C++ signature; calls convert arguments and result.
template <typename R, typename... Args>
class TypedFunction<R(Args...)> {
 public:
  using TSelf = TypedFunction<R(Args...)>;
  TypedFunction() = default;
  TypedFunction(std::nullptr_t) {}                                // NOLINT
  TypedFunction(Function packed) : packed_(std::move(packed)) {}  // NOLINT
  template <typename FLambda,
            typename = std::enable_if_t<std::is_invocable_r_v<R, FLambda&, Args...> &&
                                        !std::is_base_of_v<ObjectRef, std::decay_t<FLambda>> &&
                                        !std::is_same_v<std::decay_t<FLambda>, TSelf>>>
  TypedFunction(FLambda&& typed_lambda)  // NOLINT(google-explicit-constructor)
      : packed_(Function::FromTyped(std::forward<FLambda>(typed_lambda))) {}
  template <typename FLambda,
            typename = std::enable_if_t<std::is_invocable_r_v<R, FLambda&, Args...>>>
  TypedFunction(FLambda&& typed_lambda, std::string name)
      : packed_(Function::FromTyped(std::forward<FLambda>(typed_lambda), std::move(name))) {}

  TVM_FFI_INLINE R operator()(Args... args) const {
    if constexpr (std::is_void_v<R>) {
      packed_(std::forward<Args>(args)...);
    } else {
      Any result = packed_(std::forward<Args>(args)...);
      if constexpr (std::is_same_v<R, Any>) {
        return result;
      } else {
        return std::move(result).template cast<R>();
      }
    }
  }
  operator Function() const { return packed_; }  // NOLINT(google-explicit-constructor)
  const Function& packed() const& { return packed_; }
  Function&& packed() && { return std::move(packed_); }
  bool operator==(std::nullptr_t) const { return packed_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return packed_ != nullptr; }

  static std::string TypeSchema() { return detail::FuncFunctorImpl<R, Args...>::TypeSchema(); }

 private:
  Function packed_;
};

template <typename FType>
inline constexpr bool use_default_type_traits_v<TypedFunction<FType>> = false;

template <typename FType>
struct TypeTraits<TypedFunction<FType>> : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIFunction;

  TVM_FFI_INLINE static void CopyToAnyView(const TypedFunction<FType>& src, TVMFFIAny* result) {
    TypeTraits<Function>::CopyToAnyView(src.packed(), result);
  }
  TVM_FFI_INLINE static void MoveToAny(TypedFunction<FType> src, TVMFFIAny* result) {
    TypeTraits<Function>::MoveToAny(std::move(src).packed(), result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return TypeTraits<Function>::CheckAnyStrict(src);
  }
  TVM_FFI_INLINE static TypedFunction<FType> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return TypeTraits<Function>::CopyFromAnyViewAfterCheck(src);
  }
  TVM_FFI_INLINE static TypedFunction<FType> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return TypeTraits<Function>::MoveFromAnyAfterCheck(src);
  }
  TVM_FFI_INLINE static std::optional<TypedFunction<FType>> TryCastFromAnyView(
      const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return detail::FunctionInfo<FType>::Sig(); }
  TVM_FFI_INLINE static std::string TypeSchema() { return TypedFunction<FType>::TypeSchema(); }
};

/// Index of a registered type key; InternalError when unknown.
inline int32_t TypeKeyToIndex(std::string_view type_key) {
  const TVMFFIByteArray key{type_key.data(), type_key.size()};
  int32_t index;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&key, &index));
  return index;
}

namespace detail {

/// Body of a symbol that takes nothing and returns text.
inline int ReturnStringSafeCall(std::string_view text, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *reinterpret_cast<Any*>(result) = String(text);
  TVM_FFI_SAFE_CALL_END();
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                        \
  extern "C" {                                                                           \
  TVM_FFI_DLL_EXPORT int __tvm_ffi_##ExportName(void* self, const TVMFFIAny* args,       \
                                                int32_t num_args, TVMFFIAny* result) {   \
    TVM_FFI_SAFE_CALL_BEGIN();                                                           \
    (void)self;                                                                          \
    const auto& function = Function;                                                     \
    using FuncInfo = ::tvm::ffi::detail::FunctionInfo<std::decay_t<decltype(function)>>; \
    static const std::string name = #ExportName;                                         \
    ::tvm::ffi::detail::unpack_call<typename FuncInfo::RetType>(                         \
        std::make_index_sequence<FuncInfo::num_args>{}, &name, function,                 \
        reinterpret_cast<const ::tvm::ffi::AnyView*>(args), num_args,                    \
        reinterpret_cast<::tvm::ffi::Any*>(result));                                     \
    TVM_FFI_SAFE_CALL_END();                                                             \
  }                                                                                      \
  }

/// Set to 1 to export type schemas beside functions.
#ifndef TVM_FFI_DLL_EXPORT_INCLUDE_METADATA
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 0
#endif

/// Exports a function or lambda as symbol `__tvm_ffi_<ExportName>`, callable after the library
/// is loaded as a module.
#if TVM_FFI_DLL_EXPORT_INCLUDE_METADATA
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC(ExportName, Function)                                       \
  TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)                                       \
  extern "C" {                                                                                    \
  TVM_FFI_DLL_EXPORT int __tvm_ffi__metadata_##ExportName(void*, const TVMFFIAny*, int32_t,       \
                                                          TVMFFIAny* result) {                    \
    TVM_FFI_SAFE_CALL_BEGIN();                                                                    \
    const auto& function = Function;                                                              \
    using FuncInfo = ::tvm::ffi::detail::FunctionInfo<std::decay_t<decltype(function)>>;          \
    const std::string escaped = ::tvm::ffi::EscapeStringJSON(FuncInfo::TypeSchema());             \
    return ::tvm::ffi::detail::ReturnStringSafeCall("{\"type_schema\":" + escaped + "}", result); \
    TVM_FFI_SAFE_CALL_END();                                                                      \
  }                                                                                               \
  }
#else
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC(ExportName, Function) \
  TVM_FFI_DLL_EXPORT_TYPED_FUNC_IMPL_(ExportName, Function)
#endif

/// Exports the doc text of an exported function.
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(ExportName, DocString)                       \
  extern "C" {                                                                         \
  TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_##ExportName(void*, const TVMFFIAny*, int32_t, \
                                                     TVMFFIAny* result) {              \
    return ::tvm::ffi::detail::ReturnStringSafeCall(DocString, result);                \
  }                                                                                    \
  }

#endif  // TVM_FFI_FUNCTION_H_
