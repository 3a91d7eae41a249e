#include "webhook/review_error.h"

#include <algorithm>

#include "base/dns_names.h"
#include "base/strings.h"

namespace berth::webhook {
namespace {

constexpr char kSubdomainProblem[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr char kLabelProblem[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr char kValueProblem[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr char kNameProblem[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

bool IsNamePart(std::string_view text) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

std::string TooLong(std::size_t limit) {
  return "must be no more than " + std::to_string(limit) + " characters";
}

std::string Compose(const Path& path, std::string_view kind, std::string_view value,
                    std::string_view detail) {
  std::string text = path.text() + ": " + std::string(kind);
  if (!value.empty()) text += ": " + std::string(value);
  if (!detail.empty()) text += ": " + std::string(detail);
  return text;
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Invalid(const Path& path, std::string_view value, std::string_view detail) {
  return Compose(path, "Invalid value", value, detail);
}
std::string Required(const Path& path, std::string_view detail) {
  return Compose(path, "Required value", "", detail);
}
std::string Duplicate(const Path& path, std::string_view value) {
  return Compose(path, "Duplicate value", value, "");
}
std::string Forbidden(const Path& path, std::string_view detail) {
  return Compose(path, "Forbidden", "", detail);
}
std::string TooMany(const Path& path, std::size_t actual, std::size_t limit) {
  return Compose(path, "Too many", std::to_string(actual),
                 "must have at most " + std::to_string(limit) + " items");
}
std::string Unsupported(const Path& path, std::string_view value,
                        const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& each : supported) quoted.push_back(Quoted(each));
  return Compose(path, "Unsupported value", value, "supported values: " + Join(quoted, ", "));
}

std::string Aggregate(const FieldErrors& errors) {
  FieldErrors once;
  for (const std::string& error : errors) {
    if (std::find(once.begin(), once.end(), error) == once.end()) once.push_back(error);
  }
  if (once.empty()) return "";
  return once.size() == 1 ? once.front() : "[" + Join(once, ", ") + "]";
}

std::string DnsSubdomainProblem(std::string_view text) {
  if (text.size() > 253) return TooLong(253);
  return IsDnsSubdomain(text) ? "" : kSubdomainProblem;
}

std::string DnsLabelProblem(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  return IsDnsLabel(text) ? "" : kLabelProblem;
}

std::string LabelValueProblem(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  return text.empty() || IsNamePart(text) ? "" : kValueProblem;
}

std::string QualifiedNameProblem(std::string_view text) {
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    name = text.substr(slash + 1);
    if (slash == 0) return "prefix part must be non-empty";
    if (const std::string problem = DnsSubdomainProblem(text.substr(0, slash)); !problem.empty()) {
      return "prefix part " + problem;
    }
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part " + TooLong(63);
  return IsNamePart(name) ? "" : kNameProblem;
}

}  // namespace berth::webhook
