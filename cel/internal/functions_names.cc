// The format library: named formats of names, URIs and dates, and validate(), which lists what is
// wrong with a text.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/dns_names.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr std::string_view kFormatType = "kubernetes.NamedFormat";

using Problems = std::vector<std::string>;

// The words of one of Kubernetes' patterns of names.
struct NameRule {
  std::size_t max_bytes = 63;
  std::string_view unit;  // Kubernetes' words differ
  std::string_view words;
  std::string_view pattern;
  std::vector<std::string_view> examples;
};

std::string PatternProblem(const NameRule& rule) {
  std::string text = std::string(rule.words) + " (e.g. ";
  for (std::size_t i = 0; i < rule.examples.size(); ++i) {
    text += (i == 0 ? "'" : " or '") + std::string(rule.examples[i]) + "', ";
  }
  return text + "regex used for validation is '" + std::string(rule.pattern) + "')";
}

std::string LengthProblem(std::size_t max_bytes, std::string_view unit) {
  return "must be no more than " + std::to_string(max_bytes) + " " + std::string(unit);
}

Problems Check(const NameRule& rule, std::string_view text, bool fits) {
  Problems problems;
  if (text.size() > rule.max_bytes) problems.push_back(LengthProblem(rule.max_bytes, rule.unit));
  if (!fits) problems.push_back(PatternProblem(rule));
  return problems;
}

Problems CheckLabel(std::string_view text) {
  static const NameRule kRule{
      63,
      "characters",
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
      "must start and end with an alphanumeric character",
      "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
      {"my-name", "123-abc"}};
  return Check(kRule, text, IsDnsLabel(text));
}

Problems CheckSubdomain(std::string_view text) {
  static const NameRule kRule{
      253,
      "characters",
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
      "'.', and must start and end with an alphanumeric character",
      "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
      {"example.com"}};
  return Check(kRule, text, IsDnsSubdomain(text));
}

Problems CheckOldLabel(std::string_view text) {
  static const NameRule kRule{
      63,
      "characters",
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
      "alphabetic character, and end with an alphanumeric character",
      "[a-z]([-a-z0-9]*[a-z0-9])?",
      {"my-name", "abc-123"}};
  return Check(kRule, text, IsDnsLabel(text) && text.front() >= 'a');
}

// Letters, digits, '-', '_' and '.', with a letter or a digit at both ends.
bool IsLabelName(std::string_view text) {
  constexpr std::string_view kPlain =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto is_plain = [&](char c) { return kPlain.find(c) != std::string_view::npos; };
  if (text.empty() || !is_plain(text.front()) || !is_plain(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; });
}

Problems CheckLabelValue(std::string_view text) {
  static const NameRule kRule{
      63,
      "bytes",
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
      "'.', and must start and end with an alphanumeric character",
      "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
      {"MyValue", "my_value", "12345"}};
  return Check(kRule, text, text.empty() || IsLabelName(text));
}

Problems CheckQualifiedName(std::string_view text) {
  static const NameRule kRule{
      63,
      "bytes",
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character",
      "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
      {"MyName", "my.name", "123-abc"}};
  const auto parts = Split(text, '/');
  if (parts.size() > 2) {
    return {"a valid label key " + PatternProblem(kRule) +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  Problems problems;
  if (parts.size() == 2) {
    if (parts[0].empty()) {
      problems.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& problem : CheckSubdomain(parts[0])) {
        problems.push_back("prefix part " + problem);
      }
    }
  }
  const std::string_view name = parts.back();
  if (name.empty()) problems.emplace_back("name part must be non-empty");
  if (name.size() > 63) problems.push_back("name part " + LengthProblem(63, "bytes"));
  if (!IsLabelName(name)) problems.push_back("name part " + PatternProblem(kRule));
  return problems;
}

// `text` as a prefix of a name: one hyphen at the end is taken for a letter, as Kubernetes does.
template <Problems (*kCheck)(std::string_view)>
Problems CheckPrefix(std::string_view text) {
  if (text.size() < 2 || !text.ends_with('-')) return kCheck(text);
  return kCheck(std::string(text.substr(0, text.size() - 2)) + "a");
}

Problems CheckUri(std::string_view text) {
  const std::string problem = UrlProblem(text);
  if (problem.empty()) return {};
  return {"parse \"" + std::string(TruncateUtf8(text, 200)) + "\": " + problem};
}

Problems CheckUuid(std::string_view text) {
  constexpr std::array<std::size_t, 5> kGroups{8, 4, 4, 4, 12};
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  std::string_view rest = text;
  for (const std::size_t size : kGroups) {
    if (size != 8 && rest.starts_with('-')) rest.remove_prefix(1);
    if (rest.size() < size ||
        !std::all_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size), is_hex)) {
      return {"does not match the UUID format"};
    }
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return {"does not match the UUID format"};
  return {};
}

Problems CheckByte(std::string_view text) {
  const bool fits = !text.empty() && text.size() % 4 == 0 &&
                    text.find_first_of("\r\n") == std::string_view::npos &&
                    Base64Decode(text).has_value();
  return fits ? Problems{} : Problems{"invalid base64"};
}

Problems CheckDate(std::string_view text) {
  const bool fits = text.size() == 10 && ParseTime(std::string(text) + "T00:00:00Z").has_value();
  return fits ? Problems{} : Problems{"invalid date"};
}

Problems CheckDateTime(std::string_view text) {
  const bool fits = text.size() > 10 && text[10] != ' ' && ParseTime(text).has_value();
  return fits ? Problems{} : Problems{"invalid datetime"};
}

struct NamedFormat {
  std::string_view function;  // format.dns1123Label()
  std::string_view name;
  Problems (*check)(std::string_view);
};
constexpr std::array<NamedFormat, 13> kFormats{{
    {"format.dns1123Label", "DNS1123Label", CheckLabel},
    {"format.dns1123Subdomain", "DNS1123Subdomain", CheckSubdomain},
    {"format.dns1035Label", "DNS1035Label", CheckOldLabel},
    {"format.qualifiedName", "QualifiedName", CheckQualifiedName},
    {"format.dns1123LabelPrefix", "DNS1123LabelPrefix", CheckPrefix<CheckLabel>},
    {"format.dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", CheckPrefix<CheckSubdomain>},
    {"format.dns1035LabelPrefix", "DNS1035LabelPrefix", CheckPrefix<CheckOldLabel>},
    {"format.labelValue", "LabelValue", CheckLabelValue},
    {"format.uri", "URI", CheckUri},
    {"format.uuid", "uuid", CheckUuid},
    {"format.byte", "byte", CheckByte},
    {"format.date", "date", CheckDate},
    {"format.datetime", "datetime", CheckDateTime},
}};

class FormatObject final : public Object {
 public:
  explicit FormatObject(const NamedFormat& named) : format(named) {}
  std::string_view type_name() const override { return kFormatType; }
  bool Equals(const Object& other) const override {
    return format.name == static_cast<const FormatObject&>(other).format.name;
  }
  std::string ToText() const override { return std::string(format.name); }

  const NamedFormat& format;
};

Value FormatOf(std::string_view function) {
  for (const NamedFormat& format : kFormats) {
    if (format.function == function) return Value(std::make_shared<const FormatObject>(format));
  }
  return Value::Optional(std::nullopt);
}

Value MakeFormat(const Call& call) { return FormatOf(call.name); }

Value NamedFormatOf(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  if (call[0].AsText().size() > 100) return Value::Optional(std::nullopt);
  const Value format = FormatOf("format." + std::string(call[0].AsText()));
  return format.is(Kind::kObject) ? Value::Optional(format) : format;
}

// The list of what is wrong with argument 1, as an optional that is empty if nothing is.
Value Validate(const Call& call) {
  const bool format = call.Is(0, Kind::kObject) && TypeName(call[0]) == kFormatType;
  if (!format || !call.Is(1, Kind::kString)) return call.NoOverload();
  if (!call.machine.Charge(call[1].AsText().size() + 1)) return call.machine.Exhausted();
  const auto& object = static_cast<const FormatObject&>(call[0].AsObject());
  Values problems;
  for (std::string& problem : object.format.check(call[1].AsText())) {
    if (!call.machine.Allocate(problem.size())) return call.machine.Exhausted();
    problems.push_back(Value::String(std::move(problem)));
  }
  return problems.empty() ? Value::Optional(std::nullopt)
                          : Value::Optional(Value::List(std::move(problems)));
}

constexpr FunctionEntry kNames[] = {
    {"format.named", Style::kGlobal, 1, 1, NamedFormatOf},
    {"validate", Style::kMethod, 2, 2, Validate},
    {"format.dns1123Label", Style::kGlobal, 0, 0, MakeFormat},
    {"format.dns1123Subdomain", Style::kGlobal, 0, 0, MakeFormat},
    {"format.dns1035Label", Style::kGlobal, 0, 0, MakeFormat},
    {"format.qualifiedName", Style::kGlobal, 0, 0, MakeFormat},
    {"format.dns1123LabelPrefix", Style::kGlobal, 0, 0, MakeFormat},
    {"format.dns1123SubdomainPrefix", Style::kGlobal, 0, 0, MakeFormat},
    {"format.dns1035LabelPrefix", Style::kGlobal, 0, 0, MakeFormat},
    {"format.labelValue", Style::kGlobal, 0, 0, MakeFormat},
    {"format.uri", Style::kGlobal, 0, 0, MakeFormat},
    {"format.uuid", Style::kGlobal, 0, 0, MakeFormat},
    {"format.byte", Style::kGlobal, 0, 0, MakeFormat},
    {"format.date", Style::kGlobal, 0, 0, MakeFormat},
    {"format.datetime", Style::kGlobal, 0, 0, MakeFormat},
};

}  // namespace

std::span<const FunctionEntry> NameFunctions() { return kNames; }

}  // namespace berth::cel
