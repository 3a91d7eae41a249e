// The ip and cidr libraries: addresses of IPv4 and IPv6, without zones and without IPv4 inside
// IPv6.
#include <array>
#include <optional>
#include <string>

#include "base/strings.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr std::string_view kIpType = "net.IP";
constexpr std::string_view kCidrType = "net.CIDR";

// 4 or 16 bytes.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  int family = 4;

  std::size_t size() const { return family == 4 ? 4 : 16; }
  friend bool operator==(const Address&, const Address&) = default;
};

std::optional<int> ParseDecimal(std::string_view text, int limit) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value <= limit ? std::optional(value) : std::nullopt;
}

bool ParseFour(std::string_view text, std::uint8_t* bytes) {
  const auto parts = Split(text, '.');
  if (parts.size() != 4) return false;
  for (const std::string_view part : parts) {
    const auto value = ParseDecimal(part, 255);
    if (!value) return false;
    *bytes++ = static_cast<std::uint8_t>(*value);
  }
  return true;
}

bool ParseGroup(std::string_view text, std::uint8_t* bytes) {
  if (text.empty() || text.size() > 4) return false;
  unsigned value = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A') + 10;
    } else {
      return false;
    }
    value = value * 16 + digit;
  }
  bytes[0] = static_cast<std::uint8_t>(value >> 8U);
  bytes[1] = static_cast<std::uint8_t>(value);
  return true;
}

// Groups with colons between, the last one possibly as IPv4; the number of bytes, or none.
std::optional<std::size_t> ParseGroups(std::string_view text, std::array<std::uint8_t, 16>& bytes) {
  if (text.empty()) return 0;
  std::size_t count = 0;
  const auto groups = Split(text, ':');
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool four = i + 1 == groups.size() && groups[i].find('.') != std::string_view::npos;
    if (count + (four ? 4 : 2) > 16) return std::nullopt;
    if (!(four ? ParseFour(groups[i], &bytes[count]) : ParseGroup(groups[i], &bytes[count]))) {
      return std::nullopt;
    }
    count += four ? 4 : 2;
  }
  return count;
}

std::optional<Address> ParseAddress(std::string_view text) {
  Address address;
  if (text.size() > 45) return std::nullopt;
  if (text.find(':') == std::string_view::npos) {
    return ParseFour(text, address.bytes.data()) ? std::optional(address) : std::nullopt;
  }
  address.family = 6;
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    const auto count = ParseGroups(text, address.bytes);
    return count && *count == 16 ? std::optional(address) : std::nullopt;
  }
  std::array<std::uint8_t, 16> tail{};
  const std::string_view head = text.substr(0, gap);
  if (head.find('.') != std::string_view::npos) return std::nullopt;
  const auto before = ParseGroups(head, address.bytes);
  const auto after = ParseGroups(text.substr(gap + 2), tail);
  if (!before || !after || *before + *after > 14) return std::nullopt;
  for (std::size_t i = 0; i < *after; ++i) address.bytes[16 - *after + i] = tail[i];
  return address;
}

bool IsMapped(const Address& address) {
  if (address.family != 6) return false;
  for (std::size_t i = 0; i < 10; ++i) {
    if (address.bytes[i] != 0) return false;
  }
  return address.bytes[10] == 0xFF && address.bytes[11] == 0xFF;
}

std::string AddressText(const Address& address) {
  std::string text;
  if (address.family == 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      text += (i == 0 ? "" : ".") + std::to_string(address.bytes[i]);
    }
    return text;
  }
  const auto group = [&](std::size_t i) {
    return address.bytes[2 * i] * 256U + address.bytes[2 * i + 1];
  };
  // The first of the longest runs of at least two groups of zero is left out.
  std::size_t best = 8;
  std::size_t best_size = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && group(end) == 0) ++end;
    if (end - i > best_size) {
      best = i;
      best_size = end - i;
    }
    if (end > i) i = end - 1;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      text += "::";
      i += best_size - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    bool leading = true;
    for (unsigned shift = 16; shift > 0; shift -= 4) {
      const unsigned digit = (group(i) >> (shift - 4)) & 15U;
      leading = leading && digit == 0 && shift > 4;
      if (!leading) text += kHex[digit];
    }
  }
  return text;
}

class IpObject final : public Object {
 public:
  explicit IpObject(const Address& value) : address(value) {}
  std::string_view type_name() const override { return kIpType; }
  bool Equals(const Object& other) const override {
    return address == static_cast<const IpObject&>(other).address;
  }
  std::string ToText() const override { return AddressText(address); }

  const Address address;
};

class CidrObject final : public Object {
 public:
  CidrObject(const Address& value, int prefix) : address(value), bits(prefix) {}
  std::string_view type_name() const override { return kCidrType; }
  bool Equals(const Object& other) const override {
    const auto& cidr = static_cast<const CidrObject&>(other);
    return address == cidr.address && bits == cidr.bits;
  }
  std::string ToText() const override { return AddressText(address) + "/" + std::to_string(bits); }
  // Whether the first `count` bits of `other` are those of the address.
  bool Shares(const Address& other, int count) const {
    if (other.family != address.family) return false;
    for (int i = 0; i < count; ++i) {
      const auto byte = static_cast<std::size_t>(i) / 8;
      const unsigned mask = 128U >> (static_cast<unsigned>(i) % 8);
      if ((other.bytes[byte] & mask) != (address.bytes[byte] & mask)) return false;
    }
    return true;
  }

  const Address address;
  const int bits;
};

template <typename Type>
const Type* AsNet(const Value& value, std::string_view type) {
  if (!value.is(Kind::kObject) || TypeName(value) != type) return nullptr;
  return static_cast<const Type*>(&value.AsObject());
}
const IpObject* AsIp(const Value& value) { return AsNet<IpObject>(value, kIpType); }
const CidrObject* AsCidr(const Value& value) { return AsNet<CidrObject>(value, kCidrType); }

// The address of the text `value`, or a failure.
Value IpOf(const Value& value) {
  const auto address = ParseAddress(value.AsText());
  const std::string shown = "\"" + std::string(TruncateUtf8(value.AsText(), 100)) + "\"";
  if (!address) {
    return Value::Failure("IP Address " + shown +
                          " parse error during conversion from string: ParseAddr(" + shown +
                          "): unable to parse IP");
  }
  if (IsMapped(*address)) {
    return Value::Failure("IPv4-mapped IPv6 address " + shown + " is not allowed");
  }
  return Value(std::make_shared<const IpObject>(*address));
}

Value CidrOf(const Value& value) {
  const std::string_view text = value.AsText();
  const std::size_t slash = text.rfind('/');
  const std::string shown = "\"" + std::string(TruncateUtf8(text, 100)) + "\"";
  const auto address = ParseAddress(text.substr(0, slash));
  const auto bits = slash == std::string_view::npos
                        ? std::nullopt
                        : ParseDecimal(text.substr(slash + 1),
                                       address ? 8 * static_cast<int>(address->size()) : 0);
  if (!address || !bits) {
    return Value::Failure(
        "network address parse error during conversion from string: network address parse error "
        "during conversion from string: netip.ParsePrefix(" +
        shown + "): no network address");
  }
  if (IsMapped(*address)) {
    return Value::Failure(
        "network address parse error during conversion from string: IPv4-mapped IPv6 address " +
        shown + " is not allowed");
  }
  return Value(std::make_shared<const CidrObject>(*address, *bits));
}

Value ToIp(const Call& call) {
  if (call.Is(0, Kind::kString)) return IpOf(call[0]);
  return call.NoOverload();
}
Value IpOfCidr(const Call& call) {
  const CidrObject* cidr = AsCidr(call[0]);
  if (cidr == nullptr) return call.NoOverload();
  return Value(std::make_shared<const IpObject>(cidr->address));
}
Value ToCidr(const Call& call) {
  return call.Is(0, Kind::kString) ? CidrOf(call[0]) : call.NoOverload();
}
Value IsIp(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  return Value(!IpOf(call[0]).is(Kind::kError));
}
Value IsCidr(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  return Value(!CidrOf(call[0]).is(Kind::kError));
}
Value IsCanonicalIp(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  const Value ip = IpOf(call[0]);
  return ip.is(Kind::kError) ? ip : Value(ToText(ip) == call[0].AsText());
}

Value Family(const Call& call) {
  const IpObject* ip = AsIp(call[0]);
  return ip == nullptr ? call.NoOverload() : Value::Int(ip->address.family);
}

template <bool (*kTest)(const Address&)>
Value TestAddress(const Call& call) {
  const IpObject* ip = AsIp(call[0]);
  return ip == nullptr ? call.NoOverload() : Value(kTest(ip->address));
}
bool IsUnspecified(const Address& address) { return address.bytes == Address{}.bytes; }
bool IsLoopback(const Address& address) {
  if (address.family == 4) return address.bytes[0] == 127;
  Address loopback{.family = 6};
  loopback.bytes[15] = 1;
  return address == loopback;
}
bool IsLinkLocalMulticast(const Address& a) {
  if (a.family == 4) return a.bytes[0] == 224 && a.bytes[1] == 0 && a.bytes[2] == 0;
  return a.bytes[0] == 0xFF && (a.bytes[1] & 15U) == 2;
}
bool IsLinkLocalUnicast(const Address& a) {
  if (a.family == 4) return a.bytes[0] == 169 && a.bytes[1] == 254;
  return a.bytes[0] == 0xFE && (a.bytes[1] & 0xC0U) == 0x80U;
}
bool IsGlobalUnicast(const Address& a) {
  const bool multicast = a.family == 4 ? (a.bytes[0] & 0xF0U) == 0xE0U : a.bytes[0] == 0xFF;
  const bool broadcast = a.family == 4 && a.bytes[0] == 255 && a.bytes[1] == 255 &&
                         a.bytes[2] == 255 && a.bytes[3] == 255;
  return !IsUnspecified(a) && !IsLoopback(a) && !multicast && !broadcast && !IsLinkLocalUnicast(a);
}

Value ContainsIp(const Call& call) {
  const CidrObject* cidr = AsCidr(call[0]);
  if (cidr == nullptr) return call.NoOverload();
  Value other = call.Is(1, Kind::kString) ? IpOf(call[1]) : call[1];
  if (other.is(Kind::kError)) return other;
  const IpObject* ip = AsIp(other);
  return ip == nullptr ? call.NoOverload() : Value(cidr->Shares(ip->address, cidr->bits));
}

Value ContainsCidr(const Call& call) {
  const CidrObject* cidr = AsCidr(call[0]);
  if (cidr == nullptr) return call.NoOverload();
  Value other = call.Is(1, Kind::kString) ? CidrOf(call[1]) : call[1];
  if (other.is(Kind::kError)) return other;
  const CidrObject* inner = AsCidr(other);
  if (inner == nullptr) return call.NoOverload();
  return Value(cidr->bits <= inner->bits && cidr->Shares(inner->address, cidr->bits));
}

Value PrefixLength(const Call& call) {
  const CidrObject* cidr = AsCidr(call[0]);
  return cidr == nullptr ? call.NoOverload() : Value::Int(cidr->bits);
}

Value Masked(const Call& call) {
  const CidrObject* cidr = AsCidr(call[0]);
  if (cidr == nullptr) return call.NoOverload();
  Address address = cidr->address;
  for (std::size_t i = 0; i < address.size(); ++i) {
    const int kept = cidr->bits - 8 * static_cast<int>(i);
    if (kept >= 8) continue;
    const unsigned mask = kept <= 0 ? 0U : 0xFF00U >> static_cast<unsigned>(kept);
    address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] & mask);
  }
  return Value(std::make_shared<const CidrObject>(address, cidr->bits));
}

constexpr FunctionEntry kNet[] = {
    {"ip", Style::kGlobal, 1, 1, ToIp},
    {"ip", Style::kMethod, 1, 1, IpOfCidr},
    {"isIP", Style::kGlobal, 1, 1, IsIp},
    {"ip.isCanonical", Style::kGlobal, 1, 1, IsCanonicalIp},
    {"family", Style::kMethod, 1, 1, Family},
    {"isUnspecified", Style::kMethod, 1, 1, TestAddress<IsUnspecified>},
    {"isLoopback", Style::kMethod, 1, 1, TestAddress<IsLoopback>},
    {"isLinkLocalMulticast", Style::kMethod, 1, 1, TestAddress<IsLinkLocalMulticast>},
    {"isLinkLocalUnicast", Style::kMethod, 1, 1, TestAddress<IsLinkLocalUnicast>},
    {"isGlobalUnicast", Style::kMethod, 1, 1, TestAddress<IsGlobalUnicast>},
    {"cidr", Style::kGlobal, 1, 1, ToCidr},
    {"isCIDR", Style::kGlobal, 1, 1, IsCidr},
    {"containsIP", Style::kMethod, 2, 2, ContainsIp},
    {"containsCIDR", Style::kMethod, 2, 2, ContainsCidr},
    {"prefixLength", Style::kMethod, 1, 1, PrefixLength},
    {"masked", Style::kMethod, 1, 1, Masked},
};

}  // namespace

std::span<const FunctionEntry> NetFunctions() { return kNet; }

}  // namespace berth::cel
