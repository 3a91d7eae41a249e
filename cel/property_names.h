// cel/property_names.h — names of properties in expressions.
//
// A property whose name is no CEL identifier is written escaped: "my-field" as my__dash__field,
// "namespace" (a reserved word) as __namespace__. Both directions are exact inverses.
// Source: k8s.io/apiserver pkg/cel/escaping.go.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::cel {

bool IsIdentifier(std::string_view name);    // a letter or _, then letters, digits and _
bool IsReservedWord(std::string_view name);  // true, in, namespace, …

// nullopt: no expression can name the property (it begins with a digit, or has other characters
// than letters, digits, '_', '.', '-' and '/').
std::optional<std::string> EscapeProperty(std::string_view name);
// nullopt: `name` is not the escaped form of any property.
std::optional<std::string> UnescapeProperty(std::string_view name);

}  // namespace berth::cel
