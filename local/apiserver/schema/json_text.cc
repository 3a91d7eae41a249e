// Parses JSON and YAML bodies, and reports duplicate keys.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "api/codec/json_tree.h"
#include "api/yaml/yaml.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

ApiError TooLarge() {
  return ApiError{413, "RequestEntityTooLarge",
                  "Request entity too large: limit is " + std::to_string(kMaxBodyBytes), nullptr};
}

void ReportDuplicates(const std::vector<std::string>& paths, DecodedBody& body) {
  for (const std::string& path : paths) {
    body.strict_errors.push_back("duplicate field " + GoQuote(path));
  }
}

// Collects the errors that the fields of a text can have, in the order of the text.
class PlaceReader : public nlohmann::json_sax<Json> {
 public:
  explicit PlaceReader(std::map<std::string, std::size_t>& places) : places_(places) {}

  bool null() override { return Value(); }
  bool boolean(bool /*value*/) override { return Value(); }
  bool number_integer(number_integer_t /*value*/) override { return Value(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return Value(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return Value(); }
  bool string(string_t& /*value*/) override { return Value(); }
  bool binary(binary_t& /*value*/) override { return Value(); }
  bool start_object(std::size_t /*count*/) override { return Open(false); }
  bool start_array(std::size_t /*count*/) override { return Open(true); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.path = ChildPath(level.root, name);
    const std::string quoted = GoQuote(level.path);
    Note("unknown field " + quoted);
    if (!level.keys.insert(name).second) Note("duplicate field " + quoted);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  struct Level {
    bool is_array = false;
    std::string root;  // the path of the object or array
    std::string path;  // the path of the present member or element
    std::size_t index = 0;
    std::set<std::string> keys = {};
  };

  void Note(const std::string& error) {
    const auto known = places_.find(error);
    if (known != places_.end() && known->second == kNowhere) known->second = ++place_;
  }
  std::string Enter() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    return level.is_array ? IndexPath(level.root, level.index++) : level.path;
  }
  bool Value() {
    Enter();
    return true;
  }
  bool Open(bool is_array) {
    std::string root = Enter();
    levels_.push_back({.is_array = is_array, .root = std::move(root), .path = ""});
    return true;
  }
  bool Close() {
    levels_.pop_back();
    return true;
  }

  std::map<std::string, std::size_t>& places_;
  std::vector<Level> levels_;
  std::size_t place_ = 0;
};

}  // namespace

void SortByPlace(std::string_view text, std::vector<std::string>& strict_errors) {
  if (text.empty()) return;
  std::map<std::string, std::size_t> places;
  for (const std::string& error : strict_errors) places[error] = kNowhere;
  PlaceReader reader(places);
  // allow json-parse: ParseJson has read the text within its limits
  if (!Json::sax_parse(text, &reader)) return;
  std::stable_sort(
      strict_errors.begin(), strict_errors.end(),
      [&](const std::string& a, const std::string& b) { return places.at(a) < places.at(b); });
}

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
