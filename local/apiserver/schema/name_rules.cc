#include "local/apiserver/schema/name_rules.h"

#include <cstdint>

#include "api/codec/json_write.h"
#include "base/dns_names.h"
#include "base/strings.h"

namespace berth::local {
namespace {

constexpr std::string_view kLabelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kNameFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character";
constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsAlnum(char c) { return IsLower(c) || IsUpper(c) || IsDigit(c); }

std::string TooLongText(std::size_t max_bytes) {
  return "must be no more than " + std::to_string(max_bytes) + " bytes";
}

std::string PatternText(std::string_view rule, std::string_view pattern,
                        const std::vector<std::string>& examples) {
  std::string text(rule);
  text += " (e.g. ";
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (i > 0) text += " or ";
    text += "'" + examples[i] + "', ";
  }
  return text + "regex used for validation is '" + std::string(pattern) + "')";
}

bool IsQualifiedName(std::string_view text) {
  if (text.empty() || !IsAlnum(text.front()) || !IsAlnum(text.back())) return false;
  for (const char c : text) {
    if (!IsAlnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

std::vector<std::string> NamePartErrors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (name.size() > 63) {
    errors.push_back("name part " + TooLongText(63));
  }
  if (!IsQualifiedName(name)) {
    errors.push_back("name part " +
                     PatternText(kNameRule, kNameFormat, {"MyName", "my.name", "123-abc"}));
  }
  return errors;
}

}  // namespace

std::vector<std::string> Dns1123LabelErrors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 63) errors.push_back(TooLongText(63));
  if (IsDnsLabel(text)) return errors;
  if (IsDnsSubdomain(text)) {
    errors.emplace_back("must not contain dots");
    return errors;
  }
  errors.push_back(PatternText(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
      "must start and end with an alphanumeric character",
      kLabelFormat, {"my-name", "123-abc"}));
  return errors;
}

std::vector<std::string> Dns1123SubdomainErrors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 253) errors.push_back(TooLongText(253));
  if (!IsDnsSubdomain(text)) {
    errors.push_back(PatternText(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character",
        std::string(kLabelFormat) + "(\\." + std::string(kLabelFormat) + ")*", {"example.com"}));
  }
  return errors;
}

std::vector<std::string> Dns1035LabelErrors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 63) errors.push_back(TooLongText(63));
  if (!IsDnsLabel(text) || !IsLower(text.front())) {
    errors.push_back(PatternText(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character",
        "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  }
  return errors;
}

std::vector<std::string> PathSegmentNameErrors(std::string_view text) {
  if (text == "." || text == "..") return {"may not be '" + std::string(text) + "'"};
  std::vector<std::string> errors;
  for (const char c : {'/', '%'}) {
    if (text.find(c) != std::string_view::npos) {
      errors.push_back(std::string("may not contain '") + c + "'");
    }
  }
  return errors;
}

std::vector<std::string> LabelKeyErrors(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '/');
  if (parts.size() > 2) {
    return {"a valid label key " +
            PatternText(kNameRule, kNameFormat, {"MyName", "my.name", "123-abc"}) +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  std::vector<std::string> errors;
  if (parts.size() == 2) {
    if (parts[0].empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& error : Dns1123SubdomainErrors(parts[0])) {
        errors.push_back("prefix part " + error);
      }
    }
  }
  for (std::string& error : NamePartErrors(parts.back())) errors.push_back(std::move(error));
  return errors;
}

std::vector<std::string> LabelValueErrors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 63) errors.push_back(TooLongText(63));
  if (!text.empty() && !IsQualifiedName(text)) {
    errors.push_back(PatternText(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        "(" + std::string(kNameFormat) + ")?", {"MyValue", "my_value", "12345"}));
  }
  return errors;
}

std::vector<Cause> ValidateLabels(const Json& labels, std::string_view path) {
  std::vector<Cause> causes;
  if (!labels.is_object()) return causes;
  for (const auto& [key, value] : labels.items()) {
    for (const std::string& error : LabelKeyErrors(key)) {
      causes.push_back(InvalidError(std::string(path), key, error));
    }
    const std::string text = value.is_string() ? value.get<std::string>() : api::FormatJson(value);
    for (const std::string& error : LabelValueErrors(text)) {
      causes.push_back(InvalidError(KeyPath(path, key), text, error));
    }
  }
  return causes;
}

std::vector<Cause> ValidateAnnotations(const Json& annotations, std::string_view path) {
  std::vector<Cause> causes;
  if (!annotations.is_object()) return causes;
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations.items()) {
    // Annotation keys may have upper case in the prefix, as in Kubernetes.
    for (const std::string& error : LabelKeyErrors(ToLower(key))) {
      causes.push_back(InvalidError(std::string(path), key, error));
    }
    bytes += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  if (bytes > kMaxAnnotationBytes) {
    causes.push_back(TooLongError(std::string(path), std::int64_t{kMaxAnnotationBytes}));
  }
  return causes;
}

}  // namespace berth::local
