// webhook/review_error.h — errors of fields, in Kubernetes' words.
//
//     spec.resourceGroups[0].flavors[1].name: Duplicate value: "spot"
//
// Source: k8s.io/apimachinery field errors; clients compare the texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::webhook {

// A field's location: Path("spec").Child("resourceGroups").Index(0).Key("cpu").
class Path {
 public:
  explicit Path(std::string text) : text_(std::move(text)) {}
  Path Child(std::string_view name) const { return Path(text_ + "." + std::string(name)); }
  Path Index(std::size_t index) const { return Path(text_ + "[" + std::to_string(index) + "]"); }
  Path Key(std::string_view key) const { return Path(text_ + "[" + std::string(key) + "]"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using FieldErrors = std::vector<std::string>;  // each complete: "path: Kind: value: detail"

std::string Quoted(std::string_view text);  // in the form of Go's %q

// `value` as the message shows it: Quoted("x"), "7".
std::string Invalid(const Path& path, std::string_view value, std::string_view detail);
std::string Required(const Path& path, std::string_view detail);
std::string Duplicate(const Path& path, std::string_view value);
std::string Forbidden(const Path& path, std::string_view detail);
std::string TooMany(const Path& path, std::size_t actual, std::size_t limit);
std::string Unsupported(const Path& path, std::string_view value,
                        const std::vector<std::string>& supported);

// One error unchanged, several as "[a, b]" without repetitions. Empty: no error.
std::string Aggregate(const FieldErrors& errors);

inline constexpr char kImmutable[] = "field is immutable";
inline constexpr char kNegative[] = "must be greater than or equal to 0";

// The error of `text` as a DNS subdomain, label value, qualified name; empty: it is valid.
std::string DnsSubdomainProblem(std::string_view text);
std::string DnsLabelProblem(std::string_view text);
std::string LabelValueProblem(std::string_view text);
std::string QualifiedNameProblem(std::string_view text);

}  // namespace berth::webhook
