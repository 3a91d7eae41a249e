#include "api/codec/json_tree.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"

namespace berth::api {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxReportedDuplicates = 64;

// Builds the value as nlohmann's own reader would, and tracks the path of the current value.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  Builder(const JsonLimits& limits, std::vector<std::string>* duplicates)
      : limits_(limits), duplicates_(duplicates) {}

  bool null() { return Put(nullptr) != nullptr; }
  bool boolean(bool value) { return Put(value) != nullptr; }
  bool number_integer(number_integer_t value) { return Put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) { return Put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) {
    return Put(value) != nullptr;
  }
  bool string(string_t& value) { return Put(std::move(value)) != nullptr; }
  bool binary(binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*count*/) { return Open(Json::object()); }
  bool start_array(std::size_t /*count*/) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(string_t& name) {
    Frame& frame = stack_.back();
    const auto [member, is_new] =
        frame.value->get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    frame.key = &member->first;
    frame.member = &member->second;
    if (!is_new && duplicates_ != nullptr && duplicates_->size() < kMaxReportedDuplicates) {
      duplicates_->push_back(Path());
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) {
    error_ = "invalid JSON at byte " + std::to_string(position);
    return false;
  }

  const std::string& error() const { return error_; }
  Json Take() { return std::move(root_); }

 private:
  struct Frame {
    Json* value;
    const std::string* key = nullptr;  // the name of the current member
    Json* member = nullptr;
  };

  // The path of the current member.
  std::string Path() const {
    std::string path;
    for (const Frame& frame : stack_) {
      if (frame.value->is_array()) {
        path += "[" + std::to_string(frame.value->size() - 1) + "]";
      } else {
        path += (path.empty() ? "" : ".") + *frame.key;
      }
    }
    return path;
  }

  Json* Put(Json value) {
    if (++values_ > limits_.max_values) {
      error_ = "more than " + std::to_string(limits_.max_values) + " values";
      return nullptr;
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = stack_.back();
    if (frame.value->is_array()) {
      frame.value->push_back(std::move(value));
      return &frame.value->back();
    }
    *frame.member = std::move(value);
    return frame.member;
  }
  bool Open(Json container) {
    if (stack_.size() >= limits_.max_depth) {
      error_ = "nested deeper than " + std::to_string(limits_.max_depth) + " levels";
      return false;
    }
    Json* place = Put(std::move(container));
    if (place == nullptr) return false;
    stack_.push_back(Frame{place});
    return true;
  }
  bool Close() {
    stack_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  std::vector<std::string>* duplicates_;
  Json root_;
  std::vector<Frame> stack_;
  std::size_t values_ = 0;
  std::string error_;
};

std::size_t ScalarBytes(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string: return value.get_ref<const std::string&>().size() + 2;
    case Json::value_t::null: return 4;
    case Json::value_t::boolean: return value.get<bool>() ? 4 : 5;
    default: return FormatJson(value).size();
  }
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits,
                       std::vector<std::string>* duplicates) {
  Builder builder(limits, duplicates);
  // allow json-parse: the reader itself
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return Error{ErrorCode::kInvalid, builder.error().empty() ? "invalid JSON" : builder.error()};
  }
  return builder.Take();
}

Json ParseJsonOrNull(std::string_view text, const JsonLimits& limits) {
  Result<Json> value = ParseJson(text, limits);
  return value ? *std::move(value) : Json();
}

JsonMeasure MeasureJson(const Json& value) {
  JsonMeasure measure;
  struct Level {
    Json::const_iterator next;
    Json::const_iterator end;
  };
  std::vector<Level> levels;
  const auto visit = [&](const Json& each) {
    ++measure.values;
    if (!each.is_structured()) {
      measure.bytes += ScalarBytes(each);
      return;
    }
    measure.bytes += std::max<std::size_t>(each.size(), 1) + 1;  // brackets and commas
    levels.push_back({each.begin(), each.end()});
    measure.depth = std::max(measure.depth, levels.size());
    if (!each.is_object()) return;
    for (const auto& [key, member] : each.get_ref<const Json::object_t&>()) {
      measure.bytes += key.size() + 3;
    }
  };
  visit(value);
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.end) {
      levels.pop_back();
    } else {
      const Json& child = *level.next;
      ++level.next;
      visit(child);
    }
  }
  return measure;
}

void DropNulls(Json& value) {
  if (value.is_object()) {
    for (auto at = value.begin(); at != value.end();) {
      if (at->is_null()) {
        at = value.erase(at);
      } else {
        DropNulls(*at);
        ++at;
      }
    }
  } else if (value.is_array()) {
    for (Json& item : value) DropNulls(item);
  }
}

}  // namespace berth::api
