// JSON and YAML bodies to values, with a report of duplicate keys.
#include <vector>

#include "api/yaml/yaml.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxReportedDuplicates = 64;

ApiError TooLarge() {
  return ApiError{413, "RequestEntityTooLarge",
                  "Request entity too large: limit is " + std::to_string(kMaxBodyBytes), nullptr};
}

// Builds the value as nlohmann's own reader would, and remembers where it is.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return Put(nullptr); }
  bool boolean(bool value) { return Put(value); }
  bool number_integer(number_integer_t value) { return Put(value); }
  bool number_unsigned(number_unsigned_t value) { return Put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) { return Put(value); }
  bool string(string_t& value) { return Put(std::move(value)); }
  bool binary(binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*count*/) { return Open(Json::object()); }
  bool start_array(std::size_t /*count*/) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(string_t& name) {
    Frame& frame = stack_.back();
    if (frame.value->contains(name) && duplicates_.size() < kMaxReportedDuplicates) {
      duplicates_.push_back("duplicate field " + GoQuote(ChildPath(Path(), name)));
    }
    frame.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) {
    error_ = "invalid JSON at byte " + std::to_string(position);
    return false;
  }

  const std::string& error() const { return error_; }
  DecodedBody Take() { return DecodedBody{std::move(root_), std::move(duplicates_)}; }

 private:
  struct Frame {
    Json* value;
    std::string key;  // of the member being read
  };

  // Where the innermost open container stands.
  std::string Path() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < stack_.size(); ++i) {
      const Frame& frame = stack_[i];
      path = frame.value->is_array() ? IndexPath(path, frame.value->size() - 1)
                                     : ChildPath(path, frame.key);
    }
    return path;
  }

  Json* Place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = stack_.back();
    if (frame.value->is_array()) {
      frame.value->push_back(std::move(value));
      return &frame.value->back();
    }
    Json& member = (*frame.value)[frame.key];
    member = std::move(value);
    return &member;
  }
  bool Put(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json container) {
    if (stack_.size() >= kMaxDepth) {
      error_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    Json* place = Place(std::move(container));
    stack_.push_back(Frame{place, ""});
    return true;
  }
  bool Close() {
    stack_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Frame> stack_;
  std::vector<std::string> duplicates_;
  std::string error_;
};

}  // namespace

ApiResult<DecodedBody> ParseJson(std::string_view text) {
  if (text.size() > kMaxBodyBytes) return TooLarge();
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return BadRequest("couldn't parse the request body: " +
                      (builder.error().empty() ? std::string("invalid JSON") : builder.error()));
  }
  return builder.Take();
}

ApiResult<DecodedBody> ParseYamlBody(std::string_view text) {
  if (text.size() > kMaxBodyBytes) return TooLarge();
  // Programs send JSON, which is YAML too and is read in a fraction of the time.
  if (text.starts_with('{')) {
    if (auto json = ParseJson(text)) return json;
  }
  Result<api::YamlDocument> document =
      api::ParseYaml(text, {.max_bytes = kMaxBodyBytes, .max_depth = kMaxDepth});
  if (!document) {
    return BadRequest("couldn't parse the request body: " + document.error().message);
  }
  DecodedBody body{std::move(document->value), {}};
  for (const std::string& path : document->duplicate_keys) {
    body.strict_errors.push_back("duplicate field " + GoQuote(path));
  }
  return body;
}

}  // namespace berth::local
