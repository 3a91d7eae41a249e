#include "local/apiserver/registry/uuid.h"

#include <cstdint>

#include "base/strings.h"

namespace berth::local {

std::string MakeUuid(Random& random) {
  std::string bytes;
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t bits = random.Next();
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes.push_back(static_cast<char>((bits >> shift) & 0xFFU));
    }
  }
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0FU) | 0x40U);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3FU) | 0x80U);
  const std::string hex = HexEncode(bytes);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

}  // namespace berth::local
