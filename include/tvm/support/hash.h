// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file hash.h
/// Streaming hashes: a fast 128-bit one that detects damage, and SHA-256 (FIPS 180-4) for keys that
/// must not collide on purpose.
#ifndef TVM_SUPPORT_HASH_H_
#define TVM_SUPPORT_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tvm {
namespace support {

/// Collects input into blocks of N bytes for Derived::Block(const uint8_t*).
template <typename Derived, size_t N>
class BlockHasher {
 public:
  void Update(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    total_ += size;
    if (fill_ != 0) {
      size_t take = size < N - fill_ ? size : N - fill_;
      if (take != 0) std::memcpy(buffer_ + fill_, p, take);
      fill_ += take;
      p += take;
      size -= take;
      if (fill_ < N) return;
      self()->Block(buffer_);
      fill_ = 0;
    }
    for (; size >= N; p += N, size -= N) self()->Block(p);
    if (size != 0) std::memcpy(buffer_, p, size);
    fill_ = size;
  }
  void Update(std::string_view s) { Update(s.data(), s.size()); }

 protected:
  Derived* self() { return static_cast<Derived*>(this); }
  uint8_t buffer_[N];
  size_t fill_ = 0;
  uint64_t total_ = 0;
};

/// 128-bit hash by four lanes of 64 x 64 -> 128-bit products, at memory speed. Stable across
/// machines and versions, as files hold it. Not safe against an adversary.
class Hasher128 : public BlockHasher<Hasher128, 64> {
 public:
  std::array<uint8_t, 16> Finish() {
    std::memset(buffer_ + fill_, 0, 64 - fill_);
    Block(buffer_);
    uint64_t a = Mix(lane_[0] ^ total_, lane_[1] ^ kSalt[4]);
    uint64_t b = Mix(lane_[2] ^ kSalt[5], lane_[3] ^ total_);
    uint64_t out[2] = {Mix(a ^ kSalt[0], b ^ kSalt[1]) ^ a, Mix(b ^ kSalt[2], a ^ kSalt[3]) ^ b};
    std::array<uint8_t, 16> result;
    std::memcpy(result.data(), out, 16);
    return result;
  }

 private:
  friend class BlockHasher<Hasher128, 64>;
  // Fractional digits of square roots of primes, as odd 64-bit numbers.
  static constexpr uint64_t kSalt[6] = {0x6A09E667F3BCC909ULL, 0xBB67AE8584CAA73BULL,
                                        0x3C6EF372FE94F82BULL, 0xA54FF53A5F1D36F1ULL,
                                        0x510E527FADE682D1ULL, 0x9B05688C2B3E6C1FULL};
  static uint64_t Mix(uint64_t a, uint64_t b) {
    auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  void Block(const uint8_t* p) {
    uint64_t w[8];
    std::memcpy(w, p, 64);
    for (int i = 0; i < 4; ++i) {
      // The rotated old value keeps a zero product from erasing what came before.
      uint64_t old = lane_[i];
      lane_[i] =
          Mix(old ^ w[2 * i] ^ kSalt[i], w[2 * i + 1] ^ kSalt[i + 1]) + (old << 23 | old >> 41);
    }
  }
  uint64_t lane_[4] = {kSalt[0], kSalt[1], kSalt[2], kSalt[3]};
};

/// SHA-256.
class Sha256 : public BlockHasher<Sha256, 64> {
 public:
  std::array<uint8_t, 32> Finish() {
    uint64_t bits = total_ * 8;
    buffer_[fill_++] = 0x80;
    if (fill_ > 56) {
      std::memset(buffer_ + fill_, 0, 64 - fill_);
      Block(buffer_);
      fill_ = 0;
    }
    std::memset(buffer_ + fill_, 0, 56 - fill_);
    for (int i = 0; i < 8; ++i) buffer_[56 + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
    Block(buffer_);
    std::array<uint8_t, 32> out;
    for (int i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(h_[i / 4] >> (24 - 8 * (i % 4)));
    return out;
  }

 private:
  friend class BlockHasher<Sha256, 64>;
  static uint32_t Rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }
  void Block(const uint8_t* p) {
    static constexpr uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      w[i] = static_cast<uint32_t>(p[4 * i]) << 24 | static_cast<uint32_t>(p[4 * i + 1]) << 16 |
             static_cast<uint32_t>(p[4 * i + 2]) << 8 | p[4 * i + 3];
    }
    for (int i = 16; i < 64; ++i) {
      uint32_t s0 = Rotr(w[i - 15], 7) ^ Rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      uint32_t s1 = Rotr(w[i - 2], 17) ^ Rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t s[8];
    std::memcpy(s, h_, sizeof(s));
    for (int i = 0; i < 64; ++i) {
      uint32_t e = s[4], a = s[0];
      uint32_t t1 = s[7] + (Rotr(e, 6) ^ Rotr(e, 11) ^ Rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                    k[i] + w[i];
      uint32_t t2 =
          (Rotr(a, 2) ^ Rotr(a, 13) ^ Rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
      for (int j = 7; j > 0; --j) s[j] = s[j - 1];
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) h_[i] += s[i];
  }
  uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

/// Lower-case hexadecimal text.
template <typename Bytes>
std::string ToHex(const Bytes& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

}  // namespace support
}  // namespace tvm

#endif  // TVM_SUPPORT_HASH_H_
