// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "npy.h"

#include <tvm/runtime/logging.h>
#include <tvm/support/byte_io.h>
#include <tvm/support/str_util.h>

#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

using tvm::support::ByteReader;

namespace {

/// The text after `'key':` in the header's dictionary.
std::string_view Field(std::string_view header, std::string_view key, const std::string& path) {
  size_t at = header.find("'" + std::string(key) + "':");
  TVM_FFI_CHECK(at != std::string_view::npos, ValueError) << path << ": the header has no " << key;
  return tvm::support::Trim(header.substr(at + key.size() + 3));
}

DLDataType TypeOf(std::string_view descr, const std::string& path) {
  // E.g. '<f4': byte order, kind, bytes.
  TVM_FFI_CHECK(descr.size() >= 5 && (descr[1] == '<' || descr[1] == '|') && descr[3] >= '1' &&
                    descr[3] <= '8' && descr[4] == descr[0],
                ValueError)
      << path << ": expected a little-endian number of up to 8 bytes, found "
      << std::string(descr.substr(0, descr.find(',')));
  auto bits = static_cast<uint8_t>(8 * (descr[3] - '0'));
  switch (descr[2]) {
    case 'f':
      return DLDataType{kDLFloat, bits, 1};
    case 'i':
      return DLDataType{kDLInt, bits, 1};
    case 'u':
      return DLDataType{kDLUInt, bits, 1};
    case 'b':
      return DLDataType{kDLBool, 8, 1};
    default:
      TVM_FFI_THROW(ValueError) << path << ": cannot read type " << std::string(descr.substr(0, 5));
  }
  __builtin_unreachable();
}

}  // namespace

tvm::runtime::Tensor LoadNpy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TVM_FFI_CHECK(in.good(), ValueError) << "cannot open " << path;
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ByteReader r(bytes);
  std::string_view magic, header, data;
  uint8_t major = 0, minor = 0;
  uint16_t size16 = 0;
  uint32_t size = 0;
  bool ok = r.ReadView(6, &magic) && magic == "\x93NUMPY" && r.Read(&major) && r.Read(&minor);
  if (ok && major == 1) {
    ok = r.Read(&size16);
    size = size16;
  } else {
    ok = ok && r.Read(&size);
  }
  TVM_FFI_CHECK(ok && r.ReadView(size, &header), ValueError) << path << " is not a .npy file";
  DLDataType dtype = TypeOf(Field(header, "descr", path), path);
  TVM_FFI_CHECK(tvm::support::StartsWith(Field(header, "fortran_order", path), "False"), ValueError)
      << path << ": expected a C-ordered array";
  std::string_view dims = Field(header, "shape", path);
  TVM_FFI_CHECK(!dims.empty() && dims[0] == '(' && dims.find(')') != std::string_view::npos,
                ValueError)
      << path << ": the header has no shape";
  std::vector<int64_t> shape;
  for (const std::string& d : tvm::support::Split(dims.substr(1, dims.find(')') - 1), ',')) {
    std::string_view text = tvm::support::Trim(d);
    if (text.empty()) continue;
    auto value = tvm::support::ParseInt(text);
    TVM_FFI_CHECK(value.has_value() && *value >= 0, ValueError)
        << path << ": expected extents of at least 0, found " << d;
    shape.push_back(*value);
  }
  // Compared by division: the product of damaged extents need not fit a number.
  TVM_FFI_CHECK(r.ReadView(r.remaining(), &data), ValueError) << path;
  uint64_t elements = 8 * data.size() / dtype.bits;
  bool fits = 8 * data.size() % dtype.bits == 0;
  bool empty = false;
  for (int64_t extent : shape) {
    empty = empty || extent == 0;
    if (empty) continue;
    fits = fits && elements % static_cast<uint64_t>(extent) == 0;
    elements /= static_cast<uint64_t>(extent);
  }
  TVM_FFI_CHECK(empty ? data.empty() : fits && elements == 1, ValueError)
      << path << ": " << data.size() << " bytes of data do not fit the shape "
      << std::string(dims.substr(0, dims.find(')') + 1));
  auto out = tvm::runtime::Tensor::Empty(tvm::ffi::Shape(shape.begin(), shape.end()), dtype,
                                         tvm::Device{kDLCPU, 0});
  out.CopyFromBytes(data.data(), data.size());
  return out;
}
