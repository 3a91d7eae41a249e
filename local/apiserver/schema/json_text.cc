// Parses JSON and YAML bodies, and reports duplicate keys.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>
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

constexpr std::string_view kUnknown = "unknown field \"";
constexpr std::string_view kDuplicate = "duplicate field \"";

// The hash of a text that is read part by part (FNV-1a). Equal hashes of different errors would
// exchange their places in a message, no more.
class TextHash {
 public:
  TextHash With(std::string_view text) const {
    TextHash out = *this;
    for (const char c : text) out.value_ = (out.value_ ^ static_cast<unsigned char>(c)) * kPrime;
    return out;
  }
  std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t value_ = 14695981039346656037U;
};

// The places of errors in the text, by the hash of the error.
using Places = std::unordered_map<std::uint64_t, std::size_t>;

// Finds the places of the errors that the fields of a text can have. The text of a path is not
// made: a long key above n fields would be copied n times.
class PlaceReader : public nlohmann::json_sax<Json> {
 public:
  explicit PlaceReader(Places& places) : places_(places) {}

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
    std::string part = level.root.is_empty ? "" : ".";
    AppendGoQuoted(name, part);
    level.path = level.root.With(part);
    Note(level.path.unknown);
    if (!level.keys.insert(std::move(name)).second) Note(level.path.duplicate);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  // The errors that a path can have, without the quote at their ends.
  struct Path {
    TextHash unknown = TextHash().With(kUnknown);
    TextHash duplicate = TextHash().With(kDuplicate);
    bool is_empty = true;
    Path With(std::string_view part) const {
      return {unknown.With(part), duplicate.With(part), is_empty && part.empty()};
    }
  };
  struct Level {
    bool is_array = false;
    Path root;  // the path of the object or array
    Path path;  // the path of the present member
    std::size_t index = 0;
    std::set<std::string> keys = {};
  };

  void Note(const TextHash& error) {
    const auto known = places_.find(error.With("\"").value());
    if (known != places_.end() && known->second == kNowhere) known->second = ++place_;
  }
  Path Enter() {
    if (levels_.empty()) return {};
    Level& level = levels_.back();
    return level.is_array ? level.root.With(IndexPath("", level.index++)) : level.path;
  }
  bool Value() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  bool Open(bool is_array) {
    const Path root = Enter();
    levels_.push_back({.is_array = is_array, .root = root, .path = {}});
    return true;
  }
  bool Close() {
    levels_.pop_back();
    return true;
  }

  Places& places_;
  std::vector<Level> levels_;
  std::size_t place_ = 0;
};

}  // namespace

void SortByPlace(std::string_view text, std::vector<std::string>& strict_errors) {
  if (text.empty()) return;
  Places places;
  std::vector<std::pair<std::uint64_t, std::string>> errors;
  for (std::string& error : strict_errors) {
    const std::uint64_t hash = TextHash().With(error).value();
    places[hash] = kNowhere;
    errors.emplace_back(hash, std::move(error));
  }
  PlaceReader reader(places);
  // allow json-parse: ParseJson has read the text within its limits
  if (Json::sax_parse(text, &reader)) {
    std::stable_sort(errors.begin(), errors.end(), [&](const auto& a, const auto& b) {
      return places.at(a.first) < places.at(b.first);
    });
  }
  std::transform(errors.begin(), errors.end(), strict_errors.begin(),
                 [](auto& error) { return std::move(error.second); });
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
