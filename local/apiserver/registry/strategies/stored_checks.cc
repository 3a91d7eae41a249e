#include "local/apiserver/registry/strategies/stored_checks.h"

#include <algorithm>

#include <arpa/inet.h>

#include "base/dns_names.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/workload_checks.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxSubdomain = 253;
constexpr std::size_t kMaxPortName = 15;
constexpr unsigned char kMappedMark = 0xff;

// The bytes of an address; empty: `text` is none.
std::vector<unsigned char> AddressBytes(const std::string& text) {
  std::vector<unsigned char> bytes(16);
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(4);
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

bool HasBit(const std::vector<unsigned char>& bytes, int bit) {
  const unsigned byte = bytes[static_cast<std::size_t>(bit / 8)];
  return ((byte >> (7U - static_cast<unsigned>(bit % 8))) & 1U) != 0;
}

bool IsMapped(const std::vector<unsigned char>& bytes) {
  if (bytes.size() != 16) return false;
  const bool zeros =
      std::all_of(bytes.begin(), bytes.begin() + 10, [](unsigned char byte) { return byte == 0; });
  return zeros && bytes[10] == kMappedMark && bytes[11] == kMappedMark;
}

}  // namespace

std::vector<Cause> StoredStrategy::Validate(const ResourceInfo& resource,
                                            const Json& object) const {
  std::vector<Cause> causes = Strategy::Validate(resource, object);
  AppendCauses(causes, rules_.check(object));
  return causes;
}

std::vector<Cause> StoredStrategy::ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                                  const Json& old_object,
                                                  std::string_view subresource) const {
  std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
  if (!subresource.empty()) return causes;
  AppendCauses(causes, rules_.check(object));
  if (rules_.check_change != nullptr) rules_.check_change(object, old_object, causes);
  return causes;
}

void AppendInvalid(const std::string& path, const Json& value,
                   const std::vector<std::string>& errors, std::vector<Cause>& causes) {
  for (const std::string& error : errors) causes.push_back(InvalidError(path, value, error));
}

void CheckImmutable(const Json& object, const Json& old_object, std::string_view field,
                    std::vector<Cause>& causes) {
  if (SameAt(object, old_object, {field})) return;
  causes.push_back(
      InvalidError(std::string(field), OrNull(Member(object, field)), "field is immutable"));
}

void CheckLabelSelector(const Json* selector, const std::string& path, std::vector<Cause>& causes) {
  if (selector == nullptr || LabelSelectorFromJson(*selector)) return;
  causes.push_back(InvalidError(path, *selector, "invalid label selector"));
}

void CheckKindAndName(const Json& reference, const std::string& path, std::vector<Cause>& causes) {
  for (const std::string_view field : {"kind", "name"}) {
    const std::string text = TextAt(reference, {field});
    const std::string at = ChildPath(path, field);
    if (text.empty()) {
      causes.push_back(RequiredError(at));
    } else {
      AppendInvalid(at, text, PathSegmentNameErrors(text), causes);
    }
  }
}

void CheckReference(const Json& reference, const std::string& path, std::vector<Cause>& causes) {
  if (const Json* group = Member(reference, "apiGroup"); group != nullptr) {
    AppendInvalid(path + ".apiGroup", *group,
                  Dns1123SubdomainErrors(TextAt(reference, {"apiGroup"})), causes);
  }
  CheckKindAndName(reference, path, causes);
}

std::vector<std::string> PortNumberErrors(const Json& number) {
  if (number.is_number_integer() && IsPortNumber(number.get<std::int64_t>())) return {};
  return {"must be between 1 and 65535, inclusive"};
}

std::vector<std::string> PortNameErrors(std::string_view name) {
  std::vector<std::string> errors;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
  };
  if (name.size() > kMaxPortName) errors.emplace_back("must be no more than 15 bytes");
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_allowed)) {
    errors.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!std::any_of(name.begin(), name.end(), is_letter)) {
    errors.emplace_back("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos) {
    errors.emplace_back("must not contain consecutive hyphens");
  }
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    errors.emplace_back("must not begin or end with a hyphen");
  }
  return errors;
}

std::vector<std::string> WildcardDomainErrors(std::string_view host) {
  std::vector<std::string> errors;
  if (host.size() > kMaxSubdomain) errors.emplace_back("must be no more than 253 bytes");
  if (host.substr(0, 2) != "*." || !IsDnsSubdomain(host.substr(2))) {
    errors.emplace_back(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
        "alphanumeric character (e.g. '*.example.com', regex used for validation is "
        "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  }
  return errors;
}

bool IsIpAddress(std::string_view text) { return !AddressBytes(std::string(text)).empty(); }

bool CheckAddressBlock(std::string_view text, const std::string& path, AddressBlock& block,
                       std::vector<Cause>& causes) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    block.address = AddressBytes(std::string(text.substr(0, slash)));
    const auto length = ParseInt64(text.substr(slash + 1));
    block.prefix_length = length && *length >= 0 && *length <= 128 ? static_cast<int>(*length) : -1;
  }
  const int bits = static_cast<int>(block.address.size()) * 8;
  if (bits == 0 || block.prefix_length < 0 || block.prefix_length > bits) {
    causes.push_back(
        InvalidError(path, std::string(text),
                     "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    return false;
  }
  bool has_bits_beyond = false;
  for (int bit = block.prefix_length; bit < bits; ++bit) {
    has_bits_beyond = has_bits_beyond || HasBit(block.address, bit);
  }
  if (IsMapped(block.address)) {
    causes.push_back(
        InvalidError(path, std::string(text), "must not have an IPv4-mapped IPv6 address"));
  } else if (has_bits_beyond) {
    causes.push_back(
        InvalidError(path, std::string(text), "must not have bits set beyond the prefix length"));
  }
  return true;
}

bool IsStrictPart(const AddressBlock& outer, const AddressBlock& inner) {
  if (outer.address.size() != inner.address.size()) return false;
  if (outer.prefix_length >= inner.prefix_length) return false;
  for (int bit = 0; bit < outer.prefix_length; ++bit) {
    if (HasBit(outer.address, bit) != HasBit(inner.address, bit)) return false;
  }
  return true;
}

}  // namespace berth::local
