// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/driver/driver.h>
#include <tvm/ffi/error.h>
#include <tvm/runtime/tensor.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/testing.h"
#include "driver/module_tree.h"
#include "driver/subprocess.h"
#include "runtime/vm/test_builder.h"

namespace tvm {
namespace driver {
namespace {

using namespace codegen::testing;  // NOLINT

const DataType kFloat = DataType::Float(32);

PrimFunc Scale(const std::string& name, double factor, bool parallel) {
  Buffer C = Vector("C", kFloat, 64);
  Var i("i", DataType::Int(32));
  PrimExpr at(i);
  Stmt store = BufferStore(C, Mul(BufferLoad(C, {at}), FloatImm(kFloat, factor)), {at});
  return Packed(name, {C}, Loop(i, 64, store, parallel ? ForKind::kParallel : ForKind::kSerial));
}

float RunScale(const ffi::Function& f) {
  std::vector<float> c(64, 1.5f);
  f(static_cast<DLTensor*>(Tensor1D<float>(&c, kFloat)));
  return c[63];
}

/// A serializable module without code; remembers its payload.
class PayloadModule final : public ffi::ModuleObj {
 public:
  explicit PayloadModule(std::string payload) : payload_(std::move(payload)) {}
  const char* kind() const final { return "driver_test.payload"; }
  int GetPropertyMask() const final { return ffi::Module::kBinarySerializable; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    if (name != "payload") return std::nullopt;
    return ffi::Function::FromTyped([text = payload_] { return ffi::String(text); });
  }
  ffi::Bytes SaveToBytes() const final { return ffi::Bytes(payload_); }
  static ffi::Module Make(std::string payload) {
    return ffi::Module(ffi::make_object<PayloadModule>(std::move(payload)));
  }

 private:
  std::string payload_;
};

class Export : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ffi::Function::SetGlobal("ffi.Module.load_from_bytes.driver_test.payload",
                             ffi::Function::FromTyped([](ffi::Bytes bytes) {
                               return PayloadModule::Make(std::string(bytes.data(), bytes.size()));
                             }),
                             true);
  }
  std::string Path(const char* name) const { return folder_.path() + "/" + name; }
  TemporaryFolder folder_;
};

TEST_F(Export, PlainLibraryRuns) {
  ffi::Module module = BuildFor({Scale("serial", 2, false), Scale("parallel", 4, true)});
  ExportLibrary(module, Path("plain.so"));
  ffi::Module library = ffi::Module::LoadFromFile(Path("plain.so"));
  EXPECT_EQ(RunScale(*library->GetFunction("serial")), 3.f);
  EXPECT_EQ(RunScale(*library->GetFunction("parallel")), 6.f);
}

TEST_F(Export, LLVMAndCInOneLibraryWithImports) {
  ffi::Module root = BuildFor({Scale("native", 2, false)});
  ffi::Module c = BuildFor({Scale("from_c", 8, false)}, "c");
  ffi::Module payload = PayloadModule::Make(std::string("pay\0load", 8));
  payload->ImportModule(PayloadModule::Make("deep"));
  root->ImportModule(c);
  root->ImportModule(payload);
  ExportLibrary(root, Path("tree.so"));
  ffi::Module library = ffi::Module::LoadFromFile(Path("tree.so"));
  EXPECT_EQ(RunScale(*library->GetFunction("native")), 3.f);
  EXPECT_EQ(RunScale(*library->GetFunction("from_c")), 12.f);
  ASSERT_EQ(library->imports().size(), 1u);
  ffi::Module child = library->imports()[0].cast<ffi::Module>();
  EXPECT_EQ((*child->GetFunction("payload"))().cast<ffi::String>(), ffi::String("pay\0load", 8));
  ASSERT_EQ(child->imports().size(), 1u);
  EXPECT_EQ(
      (*child->imports()[0].cast<ffi::Module>()->GetFunction("payload"))().cast<ffi::String>(),
      "deep");
}

TEST_F(Export, SerializedRootKeepsTheLibraryAsItsImport) {
  ffi::Module root = PayloadModule::Make("root");
  root->ImportModule(BuildFor({Scale("native", 2, false)}));
  ExportLibrary(root, Path("rooted.so"));
  ffi::Module loaded = ffi::Module::LoadFromFile(Path("rooted.so"));
  EXPECT_STREQ(loaded->kind(), "driver_test.payload");
  EXPECT_EQ(RunScale(*loaded->GetFunction("native", true)), 3.f);
}

TEST_F(Export, ExecutableUsesItsConstantsInPlace) {
  // main(x) = x + weight; the kernel is native, the weight lies in the library.
  constexpr int64_t kN = 1000;
  Buffer A = Vector("A", kFloat, kN), B = Vector("B", kFloat, kN), C = Vector("C", kFloat, kN);
  Var i("i", DataType::Int(32));
  PrimExpr at(i);
  Stmt body = Loop(i, kN, BufferStore(C, BufferLoad(A, {at}) + BufferLoad(B, {at}), {at}),
                   ForKind::kVectorized);
  PrimFunc add = WithAttr(PrimFunc({A, B, C}, body), tvm::attr::kGlobalSymbol, ffi::String("add"));
  runtime::vm::TestBuilder builder;
  runtime::Tensor weight = runtime::Tensor::Empty(ffi::Shape{kN}, kFloat, DLDevice{kDLCPU, 0});
  for (int64_t k = 0; k < kN; ++k) static_cast<float*>(weight->data)[k] = static_cast<float>(k);
  auto w = builder.Const(ffi::Any(static_cast<ffi::Tensor>(weight)));
  auto small = builder.Const(ffi::Shape{4 * kN});
  auto shape = builder.Const(ffi::Shape{kN});
  auto f32 = builder.Const(DLDataType(kFloat)), u8 = builder.Const(DLDataType(DataType::UInt(8)));
  builder.Begin("main", 1, 4);
  builder.Call("vm.builtin.alloc_storage", {builder.VM(), small, builder.I(0), u8}, 1);
  builder.Call("vm.builtin.alloc_tensor", {builder.R(1), builder.I(0), shape, f32}, 2);
  builder.Call("add", {builder.R(0), w, builder.R(2)});
  builder.Ret(2);
  builder.End();
  ffi::Module executable(builder.Finish());
  executable->ImportModule(TirxBuild(ModuleOf({add}), Target("llvm")));
  ExportLibrary(executable, Path("vm.so"));
  // Again: the first export left the module as it was.
  ExportLibrary(executable, Path("vm.so"));
  EXPECT_EQ(builder.exec()->SaveToBytes().size() > 4 * kN, true);

  ffi::Module loaded = ffi::Module::LoadFromFile(Path("vm.so"));
  EXPECT_STREQ(loaded->kind(), "relax.VMExecutable");
  ffi::Module machine = (*loaded->GetFunction("vm_load_executable", false))().cast<ffi::Module>();
  (*machine->GetFunction("vm_initialization", false))(1, 0, 2);
  runtime::Tensor x = runtime::Tensor::Empty(ffi::Shape{kN}, kFloat, DLDevice{kDLCPU, 0});
  for (int64_t k = 0; k < kN; ++k) static_cast<float*>(x->data)[k] = 0.5f;
  auto out =
      (*machine->GetFunction("main", false))(static_cast<ffi::Tensor>(x)).cast<ffi::Tensor>();
  for (int64_t k = 0; k < kN; ++k) {
    ASSERT_EQ(static_cast<const float*>(out.data_ptr())[k], 0.5f + static_cast<float>(k));
  }
}

TEST_F(Export, FailuresNameTheCommandAndLeaveNoFile) {
  ffi::Module module = BuildFor({Scale("f", 2, false)});
  ExportOptions options;
  options.options = {"-no-such-flag-at-all"};
  try {
    ExportLibrary(module, Path("bad.so"), options);
    FAIL() << "no error";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "RuntimeError");
    const std::string message(error.message());
    EXPECT_NE(message.find("Compilation error:"), std::string::npos);
    EXPECT_NE(message.find("-no-such-flag-at-all"), std::string::npos);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    ADD_FAILURE() << "left behind: " << entry.path();
  }
  options = ExportOptions();
  options.cc = "no-such-compiler";
  EXPECT_THROW(ExportLibrary(module, Path("bad.so"), options), ffi::Error);
}

TEST_F(Export, WithoutAFolderForTemporaryFiles) {
  ffi::Module module = BuildFor({Scale("f", 2, false)});
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", Path("absent").c_str(), 1);
  try {
    ExportLibrary(module, Path("no.so"));
    ADD_FAILURE() << "no error";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "RuntimeError");
    EXPECT_NE(std::string(error.message()).find("set TMPDIR"), std::string::npos);
  }
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

TEST(ModuleTree, OrdersParentsFirstAndFindsCycles) {
  // root -> a -> b, root -> b: b behind a.
  ffi::Module root = PayloadModule::Make("root"), a = PayloadModule::Make("a"),
              b = PayloadModule::Make("b");
  root->ImportModule(b);
  root->ImportModule(a);
  a->ImportModule(b);
  ModuleTree tree = BuildModuleTree(root);
  ASSERT_EQ(tree.nodes.size(), 3u);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    for (size_t child : tree.nodes[i].children) EXPECT_GT(child, i);
  }
  // Code -> serialized -> code is one library that would import itself.
  ffi::Module outer = BuildFor({Scale("outer", 2, false)}),
              inner = BuildFor({Scale("inner", 2, false)});
  ffi::Module middle = PayloadModule::Make("middle");
  middle->ImportModule(inner);
  outer->ImportModule(middle);
  EXPECT_THROW(BuildModuleTree(outer), ffi::Error);
}

}  // namespace
}  // namespace driver
}  // namespace tvm
