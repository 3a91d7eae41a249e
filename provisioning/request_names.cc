#include "provisioning/request_names.h"

#include "base/sha1.h"
#include "base/strings.h"

namespace berth::provisioning {
namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kHashLength = 5;
constexpr std::size_t kMaxPlain = kMaxName - kHashLength - 1;
constexpr std::size_t kMaxAttemptDigits = 10;

// A prefix of `text` that "-" may follow in a DNS subdomain.
std::string Front(std::string_view text, std::size_t limit) {
  text = text.substr(0, limit);
  while (!text.empty() && (text.back() == '.' || text.back() == '-')) text.remove_suffix(1);
  return std::string(text);
}

std::string PlainPrefix(std::string_view workload, std::string_view check) {
  return std::string(workload) + "-" + std::string(check) + "-";
}

std::string HashedPrefix(std::string_view workload, std::string_view check) {
  const std::string plain = PlainPrefix(workload, check);
  return Front(plain, kMaxName - kHashLength - kMaxAttemptDigits - 2) + "-" +
         Sha1Hex(plain).substr(0, kHashLength) + "-";
}

std::optional<std::int32_t> NumberAfter(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  const std::optional<std::int64_t> number = ParseInt64(digits);
  if (!number || *number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

}  // namespace

std::string RequestName(std::string_view workload, std::string_view check, std::int32_t attempt) {
  const std::string number = std::to_string(attempt);
  std::string plain = PlainPrefix(workload, check) + number;
  if (plain.size() <= kMaxPlain) return plain;
  return HashedPrefix(workload, check) + number;
}

std::optional<std::int32_t> AttemptOf(std::string_view request_name, std::string_view workload,
                                      std::string_view check) {
  if (const auto attempt = NumberAfter(request_name, PlainPrefix(workload, check))) return attempt;
  return NumberAfter(request_name, HashedPrefix(workload, check));
}

std::string TemplateName(std::string_view request_name, std::string_view pod_set) {
  std::string name = "ppt-" + std::string(request_name) + "-" + std::string(pod_set);
  if (name.size() <= kMaxPlain) return name;
  return Front(name, kMaxPlain) + "-" + Sha1Hex(name).substr(0, kHashLength);
}

}  // namespace berth::provisioning
