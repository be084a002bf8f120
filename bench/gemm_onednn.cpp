// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// A matrix product of oneDNN, its weight in the library's own layout, for gemm.py.
//
//   c++ -O2 -shared -fPIC gemm_onednn.cpp -IPREFIX/include -LPREFIX/lib -ldnnl -o gemm_onednn.so
#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>

namespace {

using Type = dnnl::memory::data_type;

struct Product {
  dnnl::stream stream;
  dnnl::matmul product;
  std::unordered_map<int, dnnl::memory> args;
};

struct Types {
  const char* name;
  Type a, b, c;
};
constexpr Types kTypes[] = {{"f32", Type::f32, Type::f32, Type::f32},
                            {"bf16", Type::bf16, Type::bf16, Type::f32},
                            {"u8s8", Type::u8, Type::s8, Type::s32},
                            {"s8s8", Type::s8, Type::s8, Type::s32}};

}  // namespace

/// A product c[m, n] = a[m, k] * b[k, n], row-major; null when the library refuses it.
extern "C" void* gemm_prepare(const char* types, int m, int k, int n, void* a, void* b, void* c) {
  using Tag = dnnl::memory::format_tag;
  for (const Types& row : kTypes) {
    if (std::string(types) != row.name) continue;
    try {
      dnnl::engine engine(dnnl::engine::kind::cpu, 0);
      const dnnl::memory::desc left({m, k}, row.a, Tag::ab), out({m, n}, row.c, Tag::ab);
      const dnnl::memory::desc plain({k, n}, row.b, Tag::ab), any({k, n}, row.b, Tag::any);
      const dnnl::matmul::primitive_desc chosen(engine, left, any, out);
      auto job = std::make_unique<Product>(Product{dnnl::stream(engine), dnnl::matmul(chosen), {}});
      dnnl::memory given(plain, engine, b), packed(chosen.weights_desc(), engine);
      dnnl::reorder(given, packed).execute(job->stream, given, packed);
      job->stream.wait();
      job->args = {{DNNL_ARG_SRC, dnnl::memory(left, engine, a)},
                   {DNNL_ARG_WEIGHTS, packed},
                   {DNNL_ARG_DST, dnnl::memory(out, engine, c)}};
      return job.release();
    } catch (const dnnl::error&) {
      return nullptr;
    }
  }
  return nullptr;
}

extern "C" void gemm_run(void* handle) {
  auto* job = static_cast<Product*>(handle);
  job->product.execute(job->stream, job->args);
  job->stream.wait();
}
