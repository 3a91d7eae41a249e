#include <algorithm>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

// Terms are separated by commas that have no backslash in front.
std::vector<std::string_view> Terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == ',') {
      terms.push_back(text.substr(start, at - start));
      start = at + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

ApiResult<std::string> Unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ',' || c == '=') {
      return BadRequest(std::string("invalid field selector: unescaped character in value: ") + c);
    }
    if (c != '\\') {
      out += c;
      continue;
    }
    const std::string_view sequence = text.substr(at, 2);
    if (sequence != "\\\\" && sequence != "\\," && sequence != "\\=") {
      return BadRequest("invalid field selector: invalid escape sequence: " +
                        std::string(sequence));
    }
    out += text[++at];
  }
  return out;
}

}  // namespace

ApiResult<FieldSelector> ParseFieldSelector(std::string_view text) {
  FieldSelector selector;
  for (const std::string_view term : Terms(text)) {
    if (term.empty()) continue;
    const std::size_t at = term.find_first_of("=!");
    const std::string_view rest =
        at == std::string_view::npos ? std::string_view() : term.substr(at);
    std::size_t length = 0;
    if (rest.substr(0, 2) == "!=" || rest.substr(0, 2) == "==") {
      length = 2;
    } else if (rest.substr(0, 1) == "=") {
      length = 1;
    }
    if (length == 0) {
      return BadRequest("invalid selector: '" + std::string(text) + "'; can't understand '" +
                        std::string(term) + "'");
    }
    ApiResult<std::string> value = Unescape(rest.substr(length));
    if (!value) return value.error();
    selector.push_back({std::string(term.substr(0, at)), *value, rest[0] == '!'});
  }
  return selector;
}

std::optional<ApiError> CheckFieldSelector(const FieldSelector& selector,
                                           const std::vector<std::string>& supported,
                                           std::string_view kind, KindOrigin origin) {
  for (const FieldRequirement& requirement : selector) {
    if (std::find(supported.begin(), supported.end(), requirement.field) != supported.end()) {
      continue;
    }
    if (origin == KindOrigin::kCustom) {
      return BadRequest("field label not supported: " + requirement.field);
    }
    return BadRequest("field label " + GoQuote(requirement.field) + " not supported for " +
                      std::string(kind));
  }
  return std::nullopt;
}

bool Matches(const FieldSelector& selector,
             const std::function<std::string(std::string_view field)>& value_of) {
  return std::all_of(selector.begin(), selector.end(), [&](const FieldRequirement& requirement) {
    return (value_of(requirement.field) == requirement.value) != requirement.negated;
  });
}

std::string FieldText(const Json& object, std::string_view dotted_path) {
  const Json* value = &object;
  for (const std::string_view part : Split(dotted_path, '.')) {
    if (!value->is_object()) return "";
    const auto at = value->find(std::string(part));
    if (at == value->end()) return "";
    value = &*at;
  }
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number() || value->is_boolean()) return api::FormatJson(*value);
  return "";
}

}  // namespace berth::local
