// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>

#include <atomic>
#include <thread>
#include <vector>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;
using testing::Node;
using testing::NodeObj;

int AddOne(int x) { return x + 1; }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(core_test_add_one, AddOne);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(core_test_lambda, [](String text) { return text + "!"; });
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(core_test_add_one, "Adds one.");

TEST(Function, PackedAndTyped) {
  Function packed = Function::FromPacked([](PackedArgs args, Any* rv) {
    EXPECT_EQ(args.size(), 2);
    *rv = args[0].cast<int>() + args[1].cast<int>();
  });
  EXPECT_EQ(packed(1, 2).cast<int>(), 3);
  Function raw = Function::FromPacked(
      [](const AnyView* args, int32_t n, Any* rv) { *rv = static_cast<int64_t>(n); });
  EXPECT_EQ(raw(1, "x", nullptr).cast<int>(), 3);
  EXPECT_EQ(Function::FromTyped(AddOne)(41).cast<int>(), 42);
  TypedFunction<int(int, String)> typed = [](int x, String s) {
    return x + static_cast<int>(s.size());
  };
  EXPECT_EQ(typed(1, "four"), 5);
  Function untyped = typed;
  EXPECT_EQ(untyped(1, std::string("four")).cast<int>(), 5);
  int calls = 0;
  Function::FromTyped([&calls]() { ++calls; })();
  EXPECT_EQ(calls, 1);
  int counter_start = 0;
  Function counter = Function::FromTyped([counter_start]() mutable { return ++counter_start; });
  counter();
  EXPECT_EQ(counter().cast<int>(), 2) << "state lives in the function";
}

TEST(Function, MismatchesNameTheCall) {
  Function f = Function::FromTyped([](int, Optional<String>, Node) { return 1; }, "f");
  EXPECT_EQ(ErrorOf([&] { f(1); }),
            "TypeError: Mismatched number of arguments when calling: `f(0: int, 1: Optional<str>, "
            "2: test.core.Node) -> int`. Expected 3 but got 1 arguments");
  EXPECT_EQ(ErrorOf([&] { f(1, 2, Node(1)); }),
            "TypeError: Mismatched type on argument #1 when calling: `f(0: int, 1: Optional<str>, "
            "2: test.core.Node) -> int`. Expected `Optional<str>` but got `int`");
  Function g = Function::FromTyped([](Array<int>) {});
  EXPECT_EQ(ErrorOf([&] { g(Array<Any>{1, "x"}); }),
            "TypeError: Mismatched type on argument #0 when calling: `(0: Array<int>) -> void`. "
            "Expected `Array<int>` but got `Array[index 1: ffi.SmallStr]`");
}

TEST(Function, ArgumentsAreBorrowedResultsOwned) {
  Node node(1);
  Function count = Function::FromTyped([](const Node& n) { return n.use_count(); });
  EXPECT_EQ(count(node).cast<int>(), 2);
  Function view = Function::FromTyped([](AnyView v) { return v.as<NodeObj>() != nullptr; });
  EXPECT_TRUE(view(node).cast<bool>());
  Function id = Function::FromTyped([](Any v) { return v; });
  {
    Any same = id(node);
    EXPECT_EQ(node.use_count(), 2);
  }
  EXPECT_EQ(node.use_count(), 1);
}

TEST(Function, RValueReferences) {
  Function take = Function::FromTyped([](RValueRef<Node> r) {
    Node node = *std::move(r);
    return node.use_count();
  });
  Node node(1);
  EXPECT_EQ(take(RValueRef<Node>(std::move(node))).cast<int>(), 1);
  EXPECT_FALSE(node.defined());
  Node kept(2);
  EXPECT_EQ(take(kept).cast<int>(), 2) << "an ordinary argument is shared";
  EXPECT_EQ(ErrorOf([&] { take(RValueRef<ObjectRef>(ObjectRef(make_object<Object>()))); }),
            "TypeError: Mismatched type on argument #0 when calling: `(0: RValueRef<test.core."
            "Node>) -> int`. Expected `RValueRef<test.core.Node>` but got "
            "`RValueRef<ffi.Object>`");
  Function twice = Function::FromPacked([](PackedArgs args, Any*) {
    Any first = args[0];
    Any second = args[0];
  });
  EXPECT_EQ(ErrorOf([&] { twice(RValueRef<Node>(Node(3))); }),
            "InternalError: RValueRef already moved");
  kept = Node();
  EXPECT_EQ(NodeObj::live, 0);
}

TEST(Function, ErrorsCrossTheCBoundary) {
  Function fails = Function::FromTyped([](int x) -> int {
    if (x < 0) TVM_FFI_THROW(IndexError) << "negative " << x;
    throw std::runtime_error("plain");
  });
  // The C++ shortcut and the C entry must report alike.
  EXPECT_EQ(ErrorOf([&] { fails(-1); }), "IndexError: negative -1");
  TVMFFIAny arg = AnyView(-2).CopyToTVMFFIAny();
  TVMFFIAny result = AnyView().CopyToTVMFFIAny();
  auto handle = const_cast<FunctionObj*>(fails.get());
  EXPECT_EQ(TVMFFIFunctionCall(handle, &arg, 1, &result), -1);
  EXPECT_EQ(detail::MoveFromSafeCallRaised().message(), "negative -2");
  arg = AnyView(1).CopyToTVMFFIAny();
  EXPECT_EQ(TVMFFIFunctionCall(handle, &arg, 1, &result), -1);
  Error error = detail::MoveFromSafeCallRaised();
  EXPECT_EQ(error.kind(), "InternalError");
  EXPECT_EQ(error.message(), "plain");
  TVMFFIObjectHandle none;
  TVMFFIErrorMoveFromRaised(&none);
  EXPECT_EQ(none, nullptr) << "taking the error clears the slot";
}

struct CContext {
  int calls = 0;
  bool deleted = false;
};

int CEntry(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  auto* context = static_cast<CContext*>(self);
  if (context != nullptr) ++context->calls;
  if (n == 0) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "no arguments");
    return -1;
  }
  if (n == 9) return -2;
  *result = args[0];
  return 0;
}

TEST(Function, ExternC) {
  CContext context;
  {
    Function f = Function::FromExternC(
        &context, CEntry, [](void* self) { static_cast<CContext*>(self)->deleted = true; });
    EXPECT_EQ(f->cpp_call, nullptr);
    EXPECT_EQ(f(5).cast<int>(), 5);
    EXPECT_EQ(ErrorOf([&] { f(); }), "ValueError: no arguments");
    EXPECT_EQ(ErrorOf([&] { f(1, 2, 3, 4, 5, 6, 7, 8, 9); }), "EnvErrorAlreadySet: ");
    EXPECT_EQ(context.calls, 3);
    EXPECT_FALSE(context.deleted);
  }
  EXPECT_TRUE(context.deleted);
  EXPECT_EQ(Function::FromExternC(nullptr, CEntry, nullptr)(8).cast<int>(), 8);
  EXPECT_EQ(Function::InvokeExternC(&context, CEntry, 3).cast<int>(), 3);
}

TEST(Function, ExportedSymbols) {
  EXPECT_EQ(Function::InvokeExternC(nullptr, __tvm_ffi_core_test_add_one, 1).cast<int>(), 2);
  EXPECT_EQ(Function::InvokeExternC(nullptr, __tvm_ffi_core_test_lambda, "hi").cast<String>(),
            "hi!");
  EXPECT_EQ(ErrorOf([] { Function::InvokeExternC(nullptr, __tvm_ffi_core_test_add_one, "x"); }),
            "TypeError: Mismatched type on argument #0 when calling: `core_test_add_one(0: int) "
            "-> int`. Expected `int` but got `const char*`");
  EXPECT_EQ(Function::InvokeExternC(nullptr, __tvm_ffi__doc_core_test_add_one).cast<String>(),
            "Adds one.");
}

TEST(Function, GlobalTable) {
  const char* name = "test.core.global";
  EXPECT_FALSE(Function::GetGlobal(name).has_value());
  EXPECT_EQ(ErrorOf([&] { Function::GetGlobalRequired(name); }),
            "ValueError: Function test.core.global not found");
  Function::SetGlobal(name, Function::FromTyped(AddOne));
  EXPECT_EQ(ErrorOf([&] { Function::SetGlobal(name, Function::FromTyped(AddOne)); }),
            "RuntimeError: Global Function `test.core.global` is already registered");
  Function::SetGlobal(name, Function::FromTyped([](int x) { return x * 2; }), true);
  EXPECT_EQ(Function::GetGlobalRequired(name)(21).cast<int>(), 42);
  bool listed = false;
  for (const String& known : Function::ListGlobalNames()) listed |= known == name;
  EXPECT_TRUE(listed);
  Function::RemoveGlobal(name);
  EXPECT_FALSE(Function::GetGlobal(name).has_value());
}

TEST(Function, GlobalTableUnderThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> found{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &found] {
      for (int i = 0; i < 100; ++i) {
        const std::string name = "test.core.t" + std::to_string(t) + "." + std::to_string(i);
        Function::SetGlobal(name, Function::FromTyped([i] { return i; }));
        if (Function::GetGlobalRequired(name)().cast<int>() == i) ++found;
        Function::RemoveGlobal(name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 400);
}

TEST(Function, SchemaText) {
  EXPECT_EQ((TypedFunction<int(String, Any)>::TypeSchema()),
            R"({"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":)"
            R"([{"type":"ffi.String"},{"type":"Any"}]}})");
  EXPECT_EQ((TypeTraits<TypedFunction<void(const Array<int>&)>>::TypeStr()),
            "(0: Array<int>) -> void");
  using Method = detail::FunctionInfo<decltype(&NodeObj::Plus)>;
  EXPECT_EQ(Method::Sig(), "(0: test.core.Node, 1: int) -> int");
}

TEST(Expected, ValueOrError) {
  Expected<int> good = 3;
  EXPECT_TRUE(good.is_ok());
  EXPECT_EQ(good.value(), 3);
  EXPECT_NE(ErrorOf([&] { good.error(); }), "no error");
  Expected<int> bad = Error("ValueError", "bad", "");
  EXPECT_TRUE(bad.is_err());
  EXPECT_EQ(bad.error().message(), "bad");
  EXPECT_EQ(bad.value_or(9), 9);
  EXPECT_EQ(ErrorOf([&] { bad.value(); }), "ValueError: bad");
  Expected<double> widened = good;
  EXPECT_EQ(widened.value(), 3.0);
  Expected<Any> any = Any(1);
  EXPECT_EQ(any.as_or_error<String>().error().message(), "Cannot treat type `int` as type `str`");
  EXPECT_EQ(any.as_or_error<int>().value(), 1);
  static_assert(sizeof(Expected<Node>) == 16);
}

Expected<int> Checked(int x) {
  TVM_FFI_RET_CHECK(x != 0, ValueError) << "zero";
  TVM_FFI_RET_CHECK_LT(x, 10, IndexError) << "big";
  if (x == 5) return TVM_FFI_UNEXPECTED(TypeError) << "five " << x;
  return x;
}

TEST(Expected, ReturnMacros) {
  EXPECT_EQ(Checked(1).value(), 1);
  EXPECT_EQ(Checked(0).error().message(), "Check failed: (x != 0) is false: zero");
  EXPECT_EQ(Checked(12).error().message(), "Check failed: x < 10 (12 vs. 10) : big");
  Error five = Checked(5).error();
  EXPECT_EQ(five.message(), "five 5");
  EXPECT_NE(five.backtrace().find("function_test.cc\", line"), std::string::npos);
}

TEST(Expected, Calls) {
  Function f = Function::FromTyped([](int x) -> int {
    if (x < 0) TVM_FFI_THROW(KeyError) << "neg";
    return x;
  });
  EXPECT_EQ(f.CallExpected<int>(4).value(), 4);
  EXPECT_EQ(f.CallExpected<int>(-4).error().kind(), "KeyError");
  EXPECT_EQ(f.CallExpected<String>(4).error().kind(), "TypeError");
  Function g = Function::FromTyped(Checked);
  EXPECT_EQ(g.CallExpected<int>(0).error().kind(), "ValueError");
  EXPECT_NE(g(0).as<ErrorObj>(), nullptr) << "a failed result is a value to packed callers";
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
