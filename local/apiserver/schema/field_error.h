// local/apiserver/schema/field_error.h — validation failures in Kubernetes' words: one Cause per
// failure, and the 422 Status with all causes.
//
// Source: k8s.io/apimachinery field errors, restated; clients compare the texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

// The most causes of one refusal: validators leave out the rest.
inline constexpr std::size_t kMostCauses = 1000;

struct Cause {
  std::string reason;   // "FieldValueRequired", …
  std::string field;    // "spec.template.spec.containers[0].name"; "<nil>" at the root
  std::string message;  // "Required value: …", without the field
  friend bool operator==(const Cause&, const Cause&) = default;
};

Cause RequiredError(std::string field, std::string_view detail = "");
// `value` is printed the way Go prints it: strings quoted, other scalars bare, objects as JSON.
Cause InvalidError(std::string field, const Json& value, std::string_view detail);
// InvalidError for an object or a list, which the message leaves out.
Cause InvalidWithoutValue(std::string field, std::string_view detail);
Cause TypeInvalidError(std::string field, const Json& value, std::string_view detail);
Cause NotSupportedError(std::string field, const Json& value,
                        const std::vector<std::string>& supported);
Cause ForbiddenError(std::string field, std::string_view detail);
Cause DuplicateError(std::string field, const Json& value);
Cause DuplicateWithoutValue(std::string field);
Cause NotFoundError(std::string field, const Json& value);
Cause TooLongError(std::string field, std::int64_t max_bytes);
Cause TooManyError(std::string field, std::int64_t actual, std::int64_t max_items);

// Paths. ChildPath("", "spec") is "spec"; IndexPath("a", 0) is "a[0]"; KeyPath("m", "k") is "m[k]".
std::string ChildPath(std::string_view parent, std::string_view field);
std::string IndexPath(std::string_view parent, std::size_t index);
std::string KeyPath(std::string_view parent, std::string_view key);

// 422 Invalid: `Job.batch "x" is invalid: …` with one cause per error. `group` is "" for core.
ApiError InvalidStatus(std::string_view group, std::string_view kind, std::string_view name,
                       const std::vector<Cause>& causes);
ApiError BadRequest(std::string message);  // 400

std::string GoQuote(std::string_view text);                    // "a\"b", as Go's %q prints text
void AppendGoQuoted(std::string_view text, std::string& out);  // … without the quotes
std::string GoJson(const Json& value);  // compact, keys sorted, < > & escaped

}  // namespace berth::local
