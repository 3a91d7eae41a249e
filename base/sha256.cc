#include "base/sha256.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/strings.h"

namespace berth {
namespace {

constexpr std::size_t kChunkBytes = 64;
constexpr std::size_t kRounds = 64;
using Digest = std::array<std::uint32_t, 8>;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, kRounds> kRoundConstants{
    0x428a2f98U, 0x71374491U, 0xb5c0fbcfU, 0xe9b5dba5U, 0x3956c25bU, 0x59f111f1U, 0x923f82a4U,
    0xab1c5ed5U, 0xd807aa98U, 0x12835b01U, 0x243185beU, 0x550c7dc3U, 0x72be5d74U, 0x80deb1feU,
    0x9bdc06a7U, 0xc19bf174U, 0xe49b69c1U, 0xefbe4786U, 0x0fc19dc6U, 0x240ca1ccU, 0x2de92c6fU,
    0x4a7484aaU, 0x5cb0a9dcU, 0x76f988daU, 0x983e5152U, 0xa831c66dU, 0xb00327c8U, 0xbf597fc7U,
    0xc6e00bf3U, 0xd5a79147U, 0x06ca6351U, 0x14292967U, 0x27b70a85U, 0x2e1b2138U, 0x4d2c6dfcU,
    0x53380d13U, 0x650a7354U, 0x766a0abbU, 0x81c2c92eU, 0x92722c85U, 0xa2bfe8a1U, 0xa81a664bU,
    0xc24b8b70U, 0xc76c51a3U, 0xd192e819U, 0xd6990624U, 0xf40e3585U, 0x106aa070U, 0x19a4c116U,
    0x1e376c08U, 0x2748774cU, 0x34b0bcb5U, 0x391c0cb3U, 0x4ed8aa4aU, 0x5b9cca4fU, 0x682e6ff3U,
    0x748f82eeU, 0x78a5636fU, 0x84c87814U, 0x8cc70208U, 0x90befffaU, 0xa4506cebU, 0xbef9a3f7U,
    0xc67178f2U};

std::uint32_t OctetAt(std::string_view bytes, std::size_t index) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[index]));
}

void AddChunk(Digest& state, std::string_view block) {
  std::array<std::uint32_t, kRounds> words{};
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = OctetAt(block, 4 * i) << 24 | OctetAt(block, 4 * i + 1) << 16 |
               OctetAt(block, 4 * i + 2) << 8 | OctetAt(block, 4 * i + 3);
  }
  for (std::size_t i = 16; i < kRounds; ++i) {
    const std::uint32_t before = words[i - 15];
    const std::uint32_t late = words[i - 2];
    const std::uint32_t low = std::rotr(before, 7) ^ std::rotr(before, 18) ^ before >> 3;
    const std::uint32_t high = std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10;
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                choice + kRoundConstants[i] + words[i];
    const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d,
           state[4] + e, state[5] + f, state[6] + g, state[7] + h};
}

}  // namespace

std::string Sha256(std::string_view bytes) {
  Digest state{0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
               0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
  std::string_view rest = bytes;
  for (; rest.size() >= kChunkBytes; rest.remove_prefix(kChunkBytes)) {
    AddChunk(state, rest.substr(0, kChunkBytes));
  }
  std::string tail(rest);
  tail.push_back('\x80');
  tail.resize((tail.size() + 8 + kChunkBytes - 1) / kChunkBytes * kChunkBytes - 8, '\0');
  const std::uint64_t bit_count = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    tail.push_back(static_cast<char>(bit_count >> shift & 0xffU));
  }
  for (std::string_view left = tail; !left.empty(); left.remove_prefix(kChunkBytes)) {
    AddChunk(state, left.substr(0, kChunkBytes));
  }
  std::string hash;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      hash.push_back(static_cast<char>(word >> shift & 0xffU));
    }
  }
  return hash;
}

std::string Sha256Hex(std::string_view bytes) { return HexEncode(Sha256(bytes)); }

}  // namespace berth
