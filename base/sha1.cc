#include "base/sha1.h"

#include <array>
#include <bit>
#include <cstdint>

#include "base/strings.h"

namespace berth {
namespace {

constexpr std::size_t kBlockBytes = 64;
using State = std::array<std::uint32_t, 5>;

std::uint32_t ByteAt(std::string_view bytes, std::size_t index) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[index]));
}

void AddBlock(State& state, std::string_view block) {
  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = ByteAt(block, 4 * i) << 24 | ByteAt(block, 4 * i + 1) << 16 |
               ByteAt(block, 4 * i + 2) << 8 | ByteAt(block, 4 * i + 3);
  }
  for (std::size_t i = 16; i < words.size(); ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint32_t mix = b ^ c ^ d;
    std::uint32_t constant = i < 40 ? 0x6ed9eba1U : 0xca62c1d6U;
    if (i < 20) {
      mix = (b & c) | (~b & d);
      constant = 0x5a827999U;
    } else if (i >= 40 && i < 60) {
      mix = (b & c) | (b & d) | (c & d);
      constant = 0x8f1bbcdcU;
    }
    const std::uint32_t next = std::rotl(a, 5) + mix + e + constant + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string Sha1Hex(std::string_view bytes) {
  State state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
  std::string_view rest = bytes;
  for (; rest.size() >= kBlockBytes; rest.remove_prefix(kBlockBytes)) {
    AddBlock(state, rest.substr(0, kBlockBytes));
  }
  std::string tail(rest);
  tail.push_back('\x80');
  tail.resize((tail.size() + 8 + kBlockBytes - 1) / kBlockBytes * kBlockBytes - 8, '\0');
  const std::uint64_t bit_count = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    tail.push_back(static_cast<char>(bit_count >> shift & 0xff));
  }
  for (std::size_t at = 0; at < tail.size(); at += kBlockBytes) {
    AddBlock(state, std::string_view(tail).substr(at, kBlockBytes));
  }
  std::string digest;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      digest.push_back(static_cast<char>(word >> shift & 0xff));
    }
  }
  return HexEncode(digest);
}

}  // namespace berth
