// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Methods and constructors with several signatures under one name.
#ifndef TVM_FFI_REFLECTION_OVERLOAD_H_
#define TVM_FFI_REFLECTION_OVERLOAD_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace reflection {
namespace internal {

/// Functions of one name, tried in the order of definition. A function takes a call when the
/// number of arguments fits and every argument converts.
class OverloadSet {
 public:
  explicit OverloadSet(std::string name) : name_(std::move(name)) {}

  template <typename F>
  void Add(F function) {
    candidates_.push_back(std::make_unique<Candidate<F>>(std::move(function)));
  }

  void Call(PackedArgs args, Any* result) const {
    for (const auto& candidate : candidates_) {
      if (candidate->TryCall(args, result)) return;
    }
    std::string lines;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      lines += "\nOverload #" + std::to_string(i) + ": " + candidates_[i]->Mismatch(name_, args);
    }
    TVM_FFI_THROW(TypeError) << "No matching overload found when calling: `" << name_ << "` with "
                             << args.size() << " arguments:" << lines;
  }

 private:
  struct CandidateBase {
    virtual ~CandidateBase() = default;
    virtual bool TryCall(PackedArgs args, Any* result) const = 0;
    /// Why this candidate does not take the call.
    virtual std::string Mismatch(const std::string& name, PackedArgs args) const = 0;
  };

  template <typename F>
  struct Candidate final : public CandidateBase {
    using Info = detail::FunctionInfo<F>;

    explicit Candidate(F function) : function(std::move(function)) {}

    bool TryCall(PackedArgs args, Any* result) const final {
      if (static_cast<size_t>(args.size()) != Info::num_args) return false;
      return TryCallWith(args, result, std::make_index_sequence<Info::num_args>{});
    }

    std::string Mismatch(const std::string& name, PackedArgs args) const final {
      if (static_cast<size_t>(args.size()) != Info::num_args) {
        return detail::ArgCountMismatchText(&name, &Info::Sig, Info::num_args, args.size());
      }
      return FirstMismatch(name, args, std::make_index_sequence<Info::num_args>{});
    }

    template <size_t... I>
    static std::string FirstMismatch([[maybe_unused]] const std::string& name,
                                     [[maybe_unused]] PackedArgs args, std::index_sequence<I...>) {
      std::string text;
      (AppendMismatch<I>(name, args, &text), ...);
      return text;
    }

    template <size_t I>
    static void AppendMismatch(const std::string& name, const PackedArgs& args, std::string* text) {
      using Arg = detail::RemoveCvRef<std::tuple_element_t<I, typename Info::ArgType>>;
      if constexpr (!std::is_same_v<Arg, Any> && !std::is_same_v<Arg, AnyView>) {
        if (!text->empty() || Convert<I>(args).has_value()) return;
        const TVMFFIAny raw = args[static_cast<int>(I)].CopyToTVMFFIAny();
        *text = detail::ArgTypeMismatchText(static_cast<int32_t>(I), &name, &Info::Sig,
                                            detail::Type2Str<Arg>::v(),
                                            TypeTraits<Arg>::GetMismatchTypeInfo(&raw));
      }
    }

    template <size_t... I>
    bool TryCallWith([[maybe_unused]] PackedArgs args, Any* result,
                     std::index_sequence<I...>) const {
      std::tuple<decltype(Convert<I>(args))...> values{Convert<I>(args)...};
      if (!(std::get<I>(values).has_value() && ...)) return false;
      if constexpr (std::is_void_v<typename Info::RetType>) {
        function(*std::move(std::get<I>(values))...);
        *result = nullptr;
      } else {
        *result = Any(function(*std::move(std::get<I>(values))...));
      }
      return true;
    }

    template <size_t I>
    static auto Convert(const PackedArgs& args) {
      using Arg = detail::RemoveCvRef<std::tuple_element_t<I, typename Info::ArgType>>;
      const AnyView value = args[static_cast<int>(I)];
      if constexpr (std::is_same_v<Arg, Any> || std::is_same_v<Arg, AnyView>) {
        return std::optional<Arg>(Arg(value));
      } else {
        return value.template try_cast<Arg>();
      }
    }

    F function;
  };

  std::string name_;
  std::vector<std::unique_ptr<CandidateBase>> candidates_;
};

}  // namespace internal

/// ObjectDef whose `def` and `def_static` may be called repeatedly with one name.
template <typename T>
class OverloadObjectDef {
 public:
  template <typename... Extra>
  explicit OverloadObjectDef(Extra&&... extra) : base_(std::forward<Extra>(extra)...) {}

  template <typename Class, typename Field, typename... Extra>
  OverloadObjectDef& def_ro(const char* name, Field Class::* member, Extra&&... extra) {
    base_.def_ro(name, member, std::forward<Extra>(extra)...);
    return *this;
  }
  template <typename Class, typename Field, typename... Extra>
  OverloadObjectDef& def_rw(const char* name, Field Class::* member, Extra&&... extra) {
    base_.def_rw(name, member, std::forward<Extra>(extra)...);
    return *this;
  }
  template <typename Key, typename Value>
  OverloadObjectDef& def_type_attr(const Key& key, Value&& value) {
    base_.def_type_attr(key, std::forward<Value>(value));
    return *this;
  }

  template <typename F, typename... Extra,
            typename = std::enable_if_t<!std::is_base_of_v<InfoTrait, std::decay_t<F>>>>
  OverloadObjectDef& def(const char* name, F&& function, const Extra&... extra) {
    Set(name, [&](const Function& packed) {
      base_.def(name, packed, extra...);
    })->Add(internal::MethodAsFunction(std::decay_t<F>(function)));
    return *this;
  }

  template <typename F, typename... Extra>
  OverloadObjectDef& def_static(const char* name, F&& function, const Extra&... extra) {
    Set(name, [&](const Function& packed) {
      base_.def_static(name, packed, extra...);
    })->Add(std::decay_t<F>(function));
    return *this;
  }

  template <typename... Args, typename... Extra>
  OverloadObjectDef& def(init<Args...>, const Extra&... extra) {
    Set("__ffi_init__", [&](const Function& packed) {
      base_.def_static("__ffi_init__", packed, extra...);
      base_.def_type_attr(type_attr::kInit, packed);
      base_.MarkConstructor();
    })->Add(&internal::ConstructObject<T, Args...>);
    return *this;
  }

 private:
  /// The set of a name; the first call registers one function that serves all overloads.
  template <typename Register>
  internal::OverloadSet* Set(const char* name, const Register& do_register) {
    auto& entry = sets_[name];
    if (entry == nullptr) {
      entry = std::make_shared<internal::OverloadSet>(std::string(T::_type_key) + "." + name);
      do_register(Function::FromPacked(
          [set = entry](PackedArgs args, Any* result) { set->Call(args, result); }));
    }
    return entry.get();
  }

  ObjectDef<T> base_;
  std::map<std::string, std::shared_ptr<internal::OverloadSet>> sets_;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_OVERLOAD_H_
