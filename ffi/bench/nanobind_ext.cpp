// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The operations of the benchmark in nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/bind_map.h>
#include <nanobind/stl/bind_vector.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;
using Numbers = std::vector<int64_t>;
using Table = std::map<std::string, int64_t>;
using Matrix = nb::ndarray<float, nb::c_contig>;

struct Pair {
  Pair(int64_t first, int64_t second) : a(first), b(second) {}
  int64_t a;
  int64_t b;
};

NB_MAKE_OPAQUE(Numbers)
NB_MAKE_OPAQUE(Table)

NB_MODULE(nanobind_ext, m) {
  // As plain functions, and with the interpreter lock released as tvm_ffi does by default.
  auto both = [&m](const char* name, const char* released, auto function) {
    m.def(name, function);
    m.def(released, function, nb::call_guard<nb::gil_scoped_release>());
  };
  both("nothing", "nothing_released", [] {});
  both("add", "add_released", [](int64_t a, int64_t b, int64_t c) { return a + b + c; });
  both("take_text", "take_text_released", [](const std::string&) {});
  both("echo_text", "echo_text_released", [](const std::string& text) { return text; });
  both("take_tensors", "take_tensors_released", [](const Matrix&, const Matrix&, const Matrix&) {});
  m.def("apply", [](const std::function<int64_t(int64_t)>& f, int64_t value) { return f(value); });
  m.def("apply_released", [](const std::function<int64_t(int64_t)>& f, int64_t value) {
    nb::gil_scoped_release released;
    return f(value);  // std::function of nanobind takes the lock itself
  });
  m.def("fail", [] { throw std::runtime_error("a message"); });
  nb::class_<Pair>(m, "Pair")
      .def(nb::init<int64_t, int64_t>())
      .def_rw("a", &Pair::a)
      .def_rw("b", &Pair::b);
  nb::bind_vector<Numbers>(m, "Numbers");
  nb::bind_map<Table>(m, "Table").def("__init__", [](Table* self, const nb::dict& items) {
    new (self) Table();
    for (auto [key, value] : items) {
      (*self)[nb::cast<std::string>(key)] = nb::cast<int64_t>(value);
    }
  });
}
