#include "local/apiserver/schema/formats.h"

#include <algorithm>
#include <array>
#include <string>

#include <arpa/inet.h>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::array<std::string_view, 26> kStringFormats{
    "bsonobjectid", "uri",        "email",    "hostname",     "ipv4",       "ipv6", "cidr",
    "mac",          "uuid",       "uuid3",    "uuid4",        "uuid5",      "isbn", "isbn10",
    "isbn13",       "creditcard", "ssn",      "hexcolor",     "rgbcolor",   "byte", "password",
    "date",         "duration",   "datetime", "k8sshortname", "k8slongname"};

// "date-time" and "datetime" are the same format.
std::string WithoutDashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '-') out += c;
  }
  return out;
}

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool AllHex(std::string_view text) { return std::all_of(text.begin(), text.end(), IsHex); }

bool IsUuid(std::string_view text, char version) {
  const std::string digits = WithoutDashes(text);
  if (digits.size() != 32 || text.size() > 36 || !AllHex(digits)) return false;
  if (version == 0) return true;
  const std::string_view variants = "89abAB";
  if (digits[12] != version) return false;
  return version == '3' || variants.find(digits[16]) != std::string_view::npos;
}

bool IsAddress(int family, std::string_view text) {
  std::array<unsigned char, 16> buffer{};
  return inet_pton(family, std::string(text).c_str(), buffer.data()) == 1;
}

bool IsCidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto bits = ParseInt64(text.substr(slash + 1));
  const std::string_view address = text.substr(0, slash);
  if (!bits || *bits < 0) return false;
  return (IsAddress(AF_INET, address) && *bits <= 32) ||
         (IsAddress(AF_INET6, address) && *bits <= 128);
}

bool IsDate(std::string_view text) {
  return text.size() == 10 && ParseTime(std::string(text) + "T00:00:00Z").has_value();
}

// Go's durations ("1h30m", "1.5s") and counted words ("3 days").
bool IsDuration(std::string_view text) {
  static constexpr std::array<std::string_view, 26> kUnits{
      "ns",     "us",    "µs",     "ms",      "s",          "m",           "h",
      "d",      "w",     "nano",   "nanos",   "nanosecond", "nanoseconds", "micros",
      "millis", "sec",   "second", "seconds", "min",        "minute",      "minutes",
      "hour",   "hours", "day",    "days",    "weeks"};
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text == "0") return true;
  if (text.empty()) return false;
  while (!text.empty()) {
    std::size_t at = 0;
    while (at < text.size() && (IsDigit(text[at]) || text[at] == '.')) ++at;
    if (at == 0) return false;
    text.remove_prefix(at);
    while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    at = 0;
    while (at < text.size() && !IsDigit(text[at])) ++at;
    const std::string_view unit = text.substr(0, at);
    if (std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) return false;
    text.remove_prefix(at);
  }
  return true;
}

bool IsEmail(std::string_view text) {
  const std::size_t at = text.rfind('@');
  return at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
         text.find(' ') == std::string_view::npos;
}

bool IsUri(std::string_view text) {
  if (!text.empty() && text[0] == '/') return true;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string scheme = ToLower(text.substr(0, colon));
  if (scheme[0] < 'a' || scheme[0] > 'z') return false;
  return scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos &&
         text.find_first_of(" \t\n") == std::string_view::npos;
}

bool IsMac(std::string_view text) {
  const std::string digits = WithoutDashes(text);
  std::string plain;
  for (const char c : digits) {
    if (c != ':' && c != '.') plain += c;
  }
  return text.size() > plain.size() && AllHex(plain) && (plain.size() == 12 || plain.size() == 16);
}

bool IsHexColor(std::string_view text) {
  if (!text.empty() && text[0] == '#') text.remove_prefix(1);
  return (text.size() == 3 || text.size() == 6) && AllHex(text);
}

}  // namespace

bool IsKnownFormat(std::string_view type, std::string_view format) {
  if (type == "integer") return format == "int32" || format == "int64";
  if (type == "number") return format == "float" || format == "double";
  if (!type.empty() && type != "string") return false;
  const std::string name = WithoutDashes(format);
  return std::find(kStringFormats.begin(), kStringFormats.end(), name) != kStringFormats.end();
}

bool HasFormat(std::string_view format, std::string_view text) {
  const std::string name = WithoutDashes(format);
  if (name == "datetime") return ParseTime(text).has_value();
  if (name == "date") return IsDate(text);
  if (name == "duration") return IsDuration(text);
  if (name == "byte") {
    return !text.empty() && text.size() % 4 == 0 && text.find('\n') == std::string_view::npos &&
           Base64Decode(text).has_value();
  }
  if (name == "uuid") return IsUuid(text, 0);
  if (name == "uuid3") return IsUuid(text, '3');
  if (name == "uuid4") return IsUuid(text, '4');
  if (name == "uuid5") return IsUuid(text, '5');
  if (name == "ipv4") return IsAddress(AF_INET, text);
  if (name == "ipv6") return IsAddress(AF_INET6, text);
  if (name == "cidr") return IsCidr(text);
  if (name == "email") return IsEmail(text);
  if (name == "uri") return IsUri(text);
  if (name == "mac") return IsMac(text);
  if (name == "hexcolor") return IsHexColor(text);
  if (name == "hostname" || name == "k8slongname") {
    return Dns1123SubdomainErrors(ToLower(text)).empty();
  }
  if (name == "k8sshortname") return Dns1123LabelErrors(text).empty();
  return true;
}

}  // namespace berth::local
