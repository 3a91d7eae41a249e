// Parses JSON and YAML bodies, and reports duplicate keys.
#include <vector>

#include "api/codec/json_tree.h"
#include "api/yaml/yaml.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

ApiError TooLarge() {
  return ApiError{413, "RequestEntityTooLarge",
                  "Request entity too large: limit is " + std::to_string(kMaxBodyBytes), nullptr};
}

void ReportDuplicates(const std::vector<std::string>& paths, DecodedBody& body) {
  for (const std::string& path : paths) {
    body.strict_errors.push_back("duplicate field " + GoQuote(path));
  }
}

}  // namespace

ApiResult<DecodedBody> ParseJson(std::string_view text) {
  if (text.size() > kMaxBodyBytes) return TooLarge();
  DecodedBody body;
  std::vector<std::string> duplicates;
  Result<Json> value = api::ParseJson(text, {.max_depth = kMaxDepth}, &duplicates);
  if (!value) return BadRequest("couldn't parse the request body: " + value.error().message);
  body.value = *std::move(value);
  ReportDuplicates(duplicates, body);
  return body;
}

ApiResult<DecodedBody> ParseYamlBody(std::string_view text) {
  if (text.size() > kMaxBodyBytes) return TooLarge();
  // Programs send JSON as YAML; the JSON parser is many times faster.
  if (text.starts_with('{')) {
    if (auto json = ParseJson(text)) return json;
  }
  Result<api::YamlDocument> document =
      api::ParseYaml(text, {.max_bytes = kMaxBodyBytes, .max_depth = kMaxDepth});
  if (!document) {
    return BadRequest("couldn't parse the request body: " + document.error().message);
  }
  DecodedBody body{std::move(document->value), {}};
  ReportDuplicates(document->duplicate_keys, body);
  return body;
}

}  // namespace berth::local
