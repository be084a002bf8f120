// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Typed callables that cost one indirect call when the callee is native code.
///
/// A hook is stored either as an OpaquePtr to `TVMFFIAny(*)(A...) noexcept` or as an ffi.Function.
/// A native hook returns an owned value, or an owned ffi.Error object to report failure.
#ifndef TVM_FFI_REFLECTION_NATIVE_FUNCTION_H_
#define TVM_FFI_REFLECTION_NATIVE_FUNCTION_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function.h>

#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {
namespace reflection {

template <typename Signature>
class NativeFunctionView;

namespace internal {

/// Gives up ownership of `value` as the plain C struct.
inline TVMFFIAny ReleaseAny(Any&& value) noexcept {
  TVMFFIAny raw = *reinterpret_cast<TVMFFIAny*>(&value);
  TVMFFIAny* slot = reinterpret_cast<TVMFFIAny*>(&value);
  slot->type_index = kTVMFFINone;
  slot->zero_padding = 0;
  slot->v_int64 = 0;
  return raw;
}

/// Takes ownership of a C struct returned by a native hook.
inline Any AdoptAny(TVMFFIAny raw) noexcept {
  Any result;
  *reinterpret_cast<TVMFFIAny*>(&result) = raw;
  return result;
}

template <typename T>
struct IsExpected : std::false_type {};
template <typename T>
struct IsExpected<Expected<T>> : std::true_type {};

template <typename R, typename... A>
struct NativeThunk {
  using FNative = TVMFFIAny (*)(A...) noexcept;

  /// Adapts `Fn`, which may return TVMFFIAny (passed through), R or Expected<R>, and may throw.
  template <auto Fn>
  static TVMFFIAny Invoke(A... args) noexcept {
    using Result = std::invoke_result_t<decltype(Fn), A...>;
    try {
      if constexpr (std::is_same_v<Result, TVMFFIAny>) {
        return Fn(static_cast<A>(args)...);
      } else if constexpr (IsExpected<Result>::value) {
        Result result = Fn(static_cast<A>(args)...);
        if (result.is_err()) return ReleaseAny(Any(Error(result.error())));
        if constexpr (std::is_same_v<Result, Expected<void>>) {
          return ReleaseAny(Any());
        } else {
          return ReleaseAny(Any(std::move(result).value()));
        }
      } else if constexpr (std::is_void_v<Result>) {
        Fn(static_cast<A>(args)...);
        return ReleaseAny(Any());
      } else {
        return ReleaseAny(Any(Fn(static_cast<A>(args)...)));
      }
    } catch (const Error& err) {
      return ReleaseAny(Any(Error(err)));
    } catch (const std::exception& ex) {
      return ReleaseAny(Any(Error("InternalError", ex.what(), "")));
    } catch (...) {
      return ReleaseAny(Any(Error("InternalError", "unknown C++ exception in a native hook", "")));
    }
  }
};

}  // namespace internal

/// Borrowed hook: does not keep an ffi.Function alive.
template <typename R, typename... A>
class NativeFunctionView<R(A...)> {
  static_assert(((std::is_lvalue_reference_v<A> || std::is_trivially_copyable_v<A>) && ...),
                "arguments of a native hook are lvalue references or trivially copyable values");

 public:
  using FNative = typename internal::NativeThunk<R, A...>::FNative;

  /// Borrows `function`; the lvalue must outlive the view.
  NativeFunctionView(
      const TypedFunction<R(A...)>& function) {  // NOLINT(google-explicit-constructor)
    BorrowFunction(function.packed());
  }
  NativeFunctionView(TypedFunction<R(A...)>&&) = delete;

  /// View of a function known at compile time; nothing is allocated.
  template <auto Fn>
  static NativeFunctionView FromNative() {
    return NativeFunctionView(&internal::NativeThunk<R, A...>::template Invoke<Fn>);
  }

  /// Interprets a stored hook value; nullopt when it is neither an OpaquePtr nor a Function.
  static std::optional<NativeFunctionView> FromAnyView(const TVMFFIAny* src) {
    if ((src->type_index == kTVMFFIOpaquePtr && src->v_ptr != nullptr) ||
        src->type_index == kTVMFFIFunction) {
      NativeFunctionView view;
      view.data_ = *src;
      return view;
    }
    return std::nullopt;
  }

  bool is_native() const { return data_.type_index == kTVMFFIOpaquePtr; }

  /// Calls the hook; failures and results of a wrong type come back as errors.
  Expected<R> CallExpected(A... args) const {
    Any result = is_native() ? internal::AdoptAny(Native()(static_cast<A>(args)...))
                             : CallPacked(static_cast<A>(args)...);
    if (result.type_index() == kTVMFFIError) {
      if constexpr (!std::is_same_v<R, Error>) {
        return Unexpected<Error>(std::move(result).template cast<Error>());
      }
    }
    return Convert(std::move(result));
  }

  R operator()(A... args) const {
    if constexpr (std::is_void_v<R>) {
      CallExpected(static_cast<A>(args)...).value();
    } else {
      return std::move(CallExpected(static_cast<A>(args)...)).value();
    }
  }

  const TVMFFIAny& raw() const { return data_; }

 private:
  NativeFunctionView() : data_{} {}
  explicit NativeFunctionView(FNative fn) : data_{} {
    data_.type_index = kTVMFFIOpaquePtr;
    data_.v_ptr = reinterpret_cast<void*>(fn);
  }

  void BorrowFunction(const Function& function) {
    if (function == nullptr) {
      TVM_FFI_THROW(ValueError) << "NativeFunctionView needs a function, got null";
    }
    data_ = TVMFFIAny{};
    data_.type_index = kTVMFFIFunction;
    data_.v_obj = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);
  }

  FNative Native() const { return reinterpret_cast<FNative>(data_.v_ptr); }

  Any CallPacked(A... args) const {
    constexpr int32_t kNumArgs = static_cast<int32_t>(sizeof...(A));
    AnyView packed[kNumArgs + 1] = {AnyView(args)...};
    Any result;
    const auto* fn = reinterpret_cast<const FunctionObj*>(data_.v_obj);
    try {
      fn->CallPacked(packed, kNumArgs, &result);
    } catch (const Error& err) {
      return Any(Error(err));
    }
    return result;
  }

  Expected<R> Convert(Any&& result) const {
    if constexpr (std::is_void_v<R>) {
      return Expected<void>();
    } else if constexpr (std::is_same_v<R, Any>) {
      return Expected<Any>(std::move(result));
    } else {
      // A native hook promises the exact type; a packed one may return anything convertible.
      std::optional<R> converted;
      try {
        converted = result.template try_cast<R>();
      } catch (const Error& err) {
        return Unexpected<Error>(Error(err));
      }
      if (converted.has_value()) return Expected<R>(*std::move(converted));
      return Unexpected<Error>(Error("TypeError",
                                     "Packed hook result type mismatch: expected `" +
                                         TypeTraits<R>::TypeStr() + "`, got `" +
                                         std::string(result.GetTypeKey()) + "`",
                                     ""));
    }
  }

  TVMFFIAny data_;
};

/// Owning hook: holds the Function, or the address of native code.
template <typename Signature>
class NativeFunction;

template <typename R, typename... A>
class NativeFunction<R(A...)> {
 public:
  using View = NativeFunctionView<R(A...)>;

  NativeFunction(TypedFunction<R(A...)> function)  // NOLINT(google-explicit-constructor)
      : storage_(CheckedFunction(std::move(function))) {}

  /// Takes a copy of what the view borrows.
  explicit NativeFunction(const View& view) {
    TVMFFIAny raw = view.raw();
    if (raw.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectIncRef(raw.v_obj);
    storage_ = internal::AdoptAny(raw);
  }

  template <auto Fn>
  static NativeFunction FromNative() {
    return NativeFunction(View::template FromNative<Fn>());
  }

  View view() const { return *View::FromAnyView(reinterpret_cast<const TVMFFIAny*>(&storage_)); }

  Expected<R> CallExpected(A... args) const { return view().CallExpected(static_cast<A>(args)...); }
  R operator()(A... args) const { return view()(static_cast<A>(args)...); }

 private:
  static Any CheckedFunction(TypedFunction<R(A...)>&& function) {
    View checked(function);  // rejects null
    static_cast<void>(checked);
    return Any(function.packed());
  }

  Any storage_;
};

}  // namespace reflection

/// A view travels as the value it borrows: an OpaquePtr or an ffi.Function.
template <typename R, typename... A>
inline constexpr bool use_default_type_traits_v<reflection::NativeFunctionView<R(A...)>> = false;

template <typename R, typename... A>
struct TypeTraits<reflection::NativeFunctionView<R(A...)>> : public TypeTraitsBase {
  using Self = reflection::NativeFunctionView<R(A...)>;
  static constexpr bool storage_enabled = false;
  static constexpr int32_t field_static_type_index = kTVMFFIAny;

  static void CopyToAnyView(const Self& src, TVMFFIAny* result) { *result = src.raw(); }
  static void MoveToAny(Self src, TVMFFIAny* result) {
    *result = src.raw();
    if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectIncRef(result->v_obj);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) { return Self::FromAnyView(src).has_value(); }
  static Self CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return *Self::FromAnyView(src); }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    return Self::FromAnyView(src);
  }
  static std::string TypeStr() { return "NativeFunctionView"; }
  static std::string TypeSchema() { return R"({"type":"ffi.Function"})"; }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_NATIVE_FUNCTION_H_
