// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// From C++ signatures to packed calls: signature text, schema, argument unpacking.
#ifndef TVM_FFI_FUNCTION_DETAIL_H_
#define TVM_FFI_FUNCTION_DETAIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/object.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {
namespace detail {

/// Whether T may be a parameter: a value, const reference or rvalue reference of an ffi type.
template <typename T>
inline constexpr bool ArgSupported =
    (!std::is_lvalue_reference_v<T> || std::is_const_v<std::remove_reference_t<T>>) &&
    (std::is_same_v<RemoveCvRef<T>, Any> || std::is_same_v<RemoveCvRef<T>, AnyView> ||
     TypeTraitsNoCR<T>::convert_enabled);

template <typename T>
inline constexpr bool RetSupported =
    std::is_void_v<T> || std::is_same_v<RemoveCvRef<T>, Any> || TypeTraitsNoCR<T>::convert_enabled;

template <typename R, typename... Args>
struct FuncFunctorImpl {
  using FType = R(Args...);
  using ArgType = std::tuple<Args...>;
  using RetType = R;
  static constexpr size_t num_args = sizeof...(Args);
  static constexpr bool unpacked_supported = (ArgSupported<Args> && ...) && RetSupported<R>;

  /// `(0: T, 1: U) -> R`.
  TVM_FFI_COLD_CODE static std::string Sig() {
    std::string text = "(";
    [[maybe_unused]] size_t i = 0;
    ((text.append(i == 0 ? "" : ", ").append(std::to_string(i)).append(": "),
      text.append(Type2Str<Args>::v()), ++i),
     ...);
    return text + ") -> " + Type2Str<R>::v();
  }

  TVM_FFI_COLD_CODE static std::string TypeSchema() {
    std::string text = "{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[";
    text.append(TypeSchemaImpl<R>::v()).append("],\"params\":[");
    [[maybe_unused]] const char* separator = "";
    ((text.append(separator).append(TypeSchemaImpl<Args>::v()), separator = ","), ...);
    return text + "]}}";
  }
};

template <typename T>
struct FunctionInfoHelper;
template <typename T, typename R, typename... Args>
struct FunctionInfoHelper<R (T::*)(Args...)> : FuncFunctorImpl<R, Args...> {};
template <typename T, typename R, typename... Args>
struct FunctionInfoHelper<R (T::*)(Args...) const> : FuncFunctorImpl<R, Args...> {};
template <typename T, typename R, typename... Args>
struct FunctionInfoHelper<R (T::*)(Args...) noexcept> : FuncFunctorImpl<R, Args...> {};
template <typename T, typename R, typename... Args>
struct FunctionInfoHelper<R (T::*)(Args...) const noexcept> : FuncFunctorImpl<R, Args...> {};

/// Signature of a callable: function object, function, function pointer or member of an object
/// or handle class (whose `this` becomes the first parameter).
template <typename T, typename = void>
struct FunctionInfo : FunctionInfoHelper<decltype(&T::operator())> {};
template <typename R, typename... Args>
struct FunctionInfo<R(Args...), void> : FuncFunctorImpl<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R (*)(Args...), void> : FuncFunctorImpl<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R (&)(Args...), void> : FuncFunctorImpl<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R(Args...) noexcept, void> : FuncFunctorImpl<R, Args...> {};
template <typename R, typename... Args>
struct FunctionInfo<R (*)(Args...) noexcept, void> : FuncFunctorImpl<R, Args...> {};
template <typename Class, typename R, typename... Args>
struct FunctionInfo<R (Class::*)(Args...), std::enable_if_t<std::is_base_of_v<Object, Class>>>
    : FuncFunctorImpl<R, Class*, Args...> {};
template <typename Class, typename R, typename... Args>
struct FunctionInfo<R (Class::*)(Args...) const, std::enable_if_t<std::is_base_of_v<Object, Class>>>
    : FuncFunctorImpl<R, const Class*, Args...> {};
template <typename Class, typename R, typename... Args>
struct FunctionInfo<R (Class::*)(Args...), std::enable_if_t<std::is_base_of_v<ObjectRef, Class>>>
    : FuncFunctorImpl<R, Class, Args...> {};
template <typename Class, typename R, typename... Args>
struct FunctionInfo<R (Class::*)(Args...) const,
                    std::enable_if_t<std::is_base_of_v<ObjectRef, Class>>>
    : FuncFunctorImpl<R, const Class, Args...> {};

using FGetFuncSignature = std::string (*)();

inline std::string CallSignature(const std::string* optional_name, FGetFuncSignature f_sig) {
  return (optional_name == nullptr ? std::string() : *optional_name) +
         (f_sig == nullptr ? std::string() : f_sig());
}

TVM_FFI_COLD_CODE inline std::string ArgTypeMismatchText(int32_t arg_index,
                                                         const std::string* optional_name,
                                                         FGetFuncSignature f_sig,
                                                         const std::string& expected,
                                                         const std::string& found) {
  return "Mismatched type on argument #" + std::to_string(arg_index) + " when calling: `" +
         CallSignature(optional_name, f_sig) + "`. Expected `" + expected + "` but got `" + found +
         "`";
}

TVM_FFI_COLD_CODE inline std::string ArgCountMismatchText(const std::string* optional_name,
                                                          FGetFuncSignature f_sig, size_t expected,
                                                          int32_t found) {
  return "Mismatched number of arguments when calling: `" + CallSignature(optional_name, f_sig) +
         "`. Expected " + std::to_string(expected) + " but got " + std::to_string(found) +
         " arguments";
}

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowArgTypeMismatch(
    int32_t arg_index, const std::string* optional_name, FGetFuncSignature f_sig,
    const std::string& expected, const std::string& found) {
  TVM_FFI_THROW(TypeError) << ArgTypeMismatchText(arg_index, optional_name, f_sig, expected, found);
  TVM_FFI_UNREACHABLE();
}

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowArgCountMismatch(
    const std::string* optional_name, FGetFuncSignature f_sig, size_t expected, int32_t found) {
  TVM_FFI_THROW(TypeError) << ArgCountMismatchText(optional_name, f_sig, expected, found);
  TVM_FFI_UNREACHABLE();
}

/// One argument that converts to its parameter type and names the call when it cannot.
template <typename Type>
class ArgValueWithContext {
 public:
  using TypeWithoutCR = std::remove_const_t<std::remove_reference_t<Type>>;

  TVM_FFI_INLINE ArgValueWithContext(const AnyView* args, int32_t arg_index,
                                     const std::string* optional_name, FGetFuncSignature f_sig)
      : args_(args), arg_index_(arg_index), optional_name_(optional_name), f_sig_(f_sig) {}

  TVM_FFI_INLINE operator TypeWithoutCR() {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<TypeWithoutCR, AnyView>) {
      return args_[arg_index_];
    } else if constexpr (std::is_same_v<TypeWithoutCR, Any>) {
      return Any(args_[arg_index_]);
    } else {
      std::optional<TypeWithoutCR> value = args_[arg_index_].template try_cast<TypeWithoutCR>();
      if (TVM_FFI_PREDICT_TRUE(value.has_value())) return *std::move(value);
      const TVMFFIAny raw = args_[arg_index_].CopyToTVMFFIAny();
      ThrowArgTypeMismatch(arg_index_, optional_name_, f_sig_, Type2Str<TypeWithoutCR>::v(),
                           TypeTraits<TypeWithoutCR>::GetMismatchTypeInfo(&raw));
    }
  }

 private:
  const AnyView* args_;
  int32_t arg_index_;
  const std::string* optional_name_;
  FGetFuncSignature f_sig_;
};

/// Calls `f` with converted arguments. A failed Expected result is returned as an Error value.
template <typename R, std::size_t... Is, typename F>
TVM_FFI_INLINE void unpack_call(std::index_sequence<Is...>, const std::string* optional_name, F&& f,
                                [[maybe_unused]] const AnyView* args, int32_t num_args,
                                [[maybe_unused]] Any* rv) {
  using FuncInfo = FunctionInfo<std::decay_t<F>>;
  using PackedArgs = typename FuncInfo::ArgType;
  static_assert(FuncInfo::unpacked_supported,
                "the signature has a type that cannot cross the ffi border");
  FGetFuncSignature f_sig = &FuncInfo::Sig;
  if (TVM_FFI_PREDICT_FALSE(num_args != static_cast<int32_t>(sizeof...(Is)))) {
    ThrowArgCountMismatch(optional_name, f_sig, sizeof...(Is), num_args);
  }
  if constexpr (std::is_void_v<R>) {
    f(ArgValueWithContext<std::tuple_element_t<Is, PackedArgs>>(args, static_cast<int32_t>(Is),
                                                                optional_name, f_sig)...);
  } else if constexpr (is_expected_v<R>) {
    R result = f(ArgValueWithContext<std::tuple_element_t<Is, PackedArgs>>(
        args, static_cast<int32_t>(Is), optional_name, f_sig)...);
    *rv = ExpectedUnsafe::GetData(result);
  } else {
    *rv = static_cast<std::remove_const_t<std::remove_reference_t<R>>>(
        f(ArgValueWithContext<std::tuple_element_t<Is, PackedArgs>>(args, static_cast<int32_t>(Is),
                                                                    optional_name, f_sig)...));
  }
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_FUNCTION_DETAIL_H_
