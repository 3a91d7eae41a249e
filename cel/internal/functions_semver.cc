// The semver library: versions of Semantic Versioning 2.0.0.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/internal/numbers.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr std::string_view kSemverType = "kubernetes.Semver";
constexpr std::size_t kMaxVersionBytes = 1000;

struct Version {
  std::array<std::uint64_t, 3> numbers{};  // major, minor, patch
  std::vector<std::string> prerelease;
};

bool AreDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "a.b-1.2": identifiers of letters, digits and hyphens. `strict`: no number begins with 0.
std::optional<std::vector<std::string>> ParseIdentifiers(std::string_view text, bool strict) {
  std::vector<std::string> identifiers;
  for (const std::string_view part : Split(text, '.')) {
    constexpr std::string_view kAllowed =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
    if (part.empty() || part.find_first_not_of(kAllowed) != std::string_view::npos) {
      return std::nullopt;
    }
    if (strict && AreDigits(part) && (part.size() > 20 || (part.size() > 1 && part[0] == '0'))) {
      return std::nullopt;
    }
    identifiers.emplace_back(part);
  }
  return identifiers;
}

std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  if (text.size() > kMaxVersionBytes) return std::nullopt;
  if (const std::size_t build = text.find('+'); build != std::string_view::npos) {
    if (!ParseIdentifiers(text.substr(build + 1), false)) return std::nullopt;
    text = text.substr(0, build);
  }
  if (const std::size_t hyphen = text.find('-'); hyphen != std::string_view::npos) {
    auto identifiers = ParseIdentifiers(text.substr(hyphen + 1), true);
    if (!identifiers) return std::nullopt;
    version.prerelease = *std::move(identifiers);
    text = text.substr(0, hyphen);
  }
  const auto parts = Split(text, '.');
  if (parts.size() != 3) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!AreDigits(parts[i]) || (parts[i].size() > 1 && parts[i][0] == '0')) return std::nullopt;
    const auto number = ParseUint64(parts[i]);
    if (!number) return std::nullopt;
    version.numbers[i] = *number;
  }
  return version;
}

// "v1.02" as "1.2.0": a v in front, missing minor and patch numbers, and zeros in front are mended.
std::string Normalize(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_of("-+"), text.size());
  std::vector<std::string> numbers;
  for (std::string_view part : Split(text.substr(0, end), '.')) {
    while (part.size() > 1 && part[0] == '0') part.remove_prefix(1);
    numbers.emplace_back(part);
  }
  while (numbers.size() < 3) numbers.emplace_back("0");
  return Join(numbers, ".") + std::string(text.substr(end));
}

int CompareIdentifiers(const std::string& a, const std::string& b) {
  const bool a_number = AreDigits(a);
  const bool b_number = AreDigits(b);
  if (a_number != b_number) return a_number ? -1 : 1;
  if (a_number && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a < b ? -1 : (a > b ? 1 : 0);
}

int CompareVersions(const Version& a, const Version& b) {
  if (a.numbers != b.numbers) return a.numbers < b.numbers ? -1 : 1;
  if (a.prerelease.empty() || b.prerelease.empty()) {
    return static_cast<int>(a.prerelease.empty()) - static_cast<int>(b.prerelease.empty());
  }
  const std::size_t shared = std::min(a.prerelease.size(), b.prerelease.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const int order = CompareIdentifiers(a.prerelease[i], b.prerelease[i]);
    if (order != 0) return order;
  }
  if (a.prerelease.size() == b.prerelease.size()) return 0;
  return a.prerelease.size() < b.prerelease.size() ? -1 : 1;
}

class SemverObject final : public Object {
 public:
  SemverObject(Version value, std::string text)
      : version(std::move(value)), text_(std::move(text)) {}
  std::string_view type_name() const override { return kSemverType; }
  bool Equals(const Object& other) const override {
    return CompareVersions(version, static_cast<const SemverObject&>(other).version) == 0;
  }
  std::optional<int> Compare(const Object& other) const override {
    return CompareVersions(version, static_cast<const SemverObject&>(other).version);
  }
  std::string ToText() const override { return text_; }

  const Version version;

 private:
  std::string text_;
};

// The version of the arguments; none if it is no version. Their kinds have been checked.
std::optional<Version> VersionOf(const Call& call, std::string& text) {
  const bool normalize = call.size() == 2 && call[1].AsBool();
  text = call[0].AsText();
  if (text.size() > kMaxVersionBytes) return std::nullopt;
  if (normalize) text = Normalize(text);
  return ParseVersion(text);
}

bool TakesVersion(const Call& call) {
  return call.Is(0, Kind::kString) && (call.size() == 1 || call.Is(1, Kind::kBool));
}

Value ToSemver(const Call& call) {
  if (!TakesVersion(call)) return call.NoOverload();
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  std::string text;
  auto version = VersionOf(call, text);
  if (version) {
    return Value(std::make_shared<const SemverObject>(*std::move(version), std::move(text)));
  }
  return Value::Failure("\"" + std::string(TruncateUtf8(text, 100)) +
                        "\" is not a semantic version: write MAJOR.MINOR.PATCH");
}

Value IsSemver(const Call& call) {
  if (!TakesVersion(call)) return call.NoOverload();
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  std::string text;
  return Value(VersionOf(call, text).has_value());
}

template <std::size_t kIndex>
Value NumberOf(const Call& call) {
  if (!call.Is(0, Kind::kObject) || TypeName(call[0]) != kSemverType) return call.NoOverload();
  const Version& version = static_cast<const SemverObject&>(call[0].AsObject()).version;
  return Value::Int(static_cast<std::int64_t>(version.numbers[kIndex]));
}

constexpr FunctionEntry kSemver[] = {
    {"semver", Style::kGlobal, 1, 2, ToSemver},   {"isSemver", Style::kGlobal, 1, 2, IsSemver},
    {"major", Style::kMethod, 1, 1, NumberOf<0>}, {"minor", Style::kMethod, 1, 1, NumberOf<1>},
    {"patch", Style::kMethod, 1, 1, NumberOf<2>},
};

}  // namespace

std::span<const FunctionEntry> SemverFunctions() { return kSemver; }

}  // namespace berth::cel
