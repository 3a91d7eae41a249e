#include "api/codec/json_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <simdjson.h>

namespace berth::api {

const JsonNode* JsonNode::Find(std::string_view name) const {
  const JsonNode* found = nullptr;
  Each([&](const JsonNode& child) {
    if (child.key == name) found = &child;
  });
  return found;
}

namespace {

namespace ondemand = simdjson::ondemand;
using Kind = JsonNode::Kind;

constexpr std::string_view kLeftOut = "managedFields";
constexpr std::string_view kBlanks = " \t\r\n";

// The part of a Kubernetes object that a value is.
enum class Part {
  kRoot,      // a whole text: an object, or a watch event with an object
  kObject,    // the object
  kMetadata,  // its metadata
  kOther
};

Part PartOf(Part parent, std::string_view key) {
  if (parent == Part::kOther || parent == Part::kMetadata) return Part::kOther;
  if (key == "metadata") return Part::kMetadata;
  return parent == Part::kRoot && key == "object" ? Part::kObject : Part::kOther;
}

std::string_view WithoutBlanksBehind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string StringOf(const JsonNode& object, std::string_view name) {
  const JsonNode* value = object.Find(name);
  return value != nullptr && value->kind == Kind::kString ? std::string(value->text)
                                                          : std::string();
}

}  // namespace

// Walks one text and appends nodes. simdjson validates only the values that are read, so every
// value is read. Every function returns false at the first error, which is in `error_`.
class JsonText::Parser {
 public:
  bool Whole(std::string_view text) {
    if (!Open(text)) return false;
    nodes_.clear();
    ondemand::json_type type{};
    if (!Good(document_.type().get(type))) return false;
    if (type == ondemand::json_type::object || type == ondemand::json_type::array) {
      ondemand::value root;
      if (!Good(document_.get_value().get(root)) || !Value(root, {}, 1, Part::kRoot)) {
        return false;
      }
    } else {
      nodes_.emplace_back();
      // simdjson 3.0 looks for the end of a lone word at the wrong byte.
      if (type == ondemand::json_type::null || type == ondemand::json_type::boolean) {
        return LoneWord();
      }
      if (!Scalar(document_, type, 0)) return false;
    }
    return AtEnd();
  }

  bool List(std::string_view text, JsonListHead& head, const OnItem& on_item) {
    ondemand::object list;
    bool has_items = false;
    if (!Open(text) || !Good(document_.get_object().get(list))) return false;
    for (auto member : list) {
      ondemand::field field;
      std::string_view key;
      ondemand::json_type type{};
      if (!Good(std::move(member).get(field)) || !Good(field.unescaped_key().get(key)) ||
          !Good(field.value().type().get(type))) {
        return false;
      }
      if (key == "items" && std::exchange(has_items, true)) {
        // A tree would have the last list, but items of the first have been delivered.
        return Fail(NextToken(), "a second list of items");
      }
      if (key == "items" && type == ondemand::json_type::array) {
        if (!Items(field.value(), on_item)) return false;
        continue;
      }
      nodes_.clear();
      if (!Value(field.value(), {}, 1, Part::kOther)) return false;
      if (key != "metadata") continue;
      head.resource_version = StringOf(nodes_.front(), "resourceVersion");
      head.continue_token = StringOf(nodes_.front(), "continue");
    }
    return AtEnd();
  }

  const JsonNode* root() const { return nodes_.data(); }
  const Error& error() const { return error_; }

 private:
  bool Open(std::string_view text) {
    // simdjson reads beyond the end, without using those bytes.
    text_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    text_.assign(text).append(simdjson::SIMDJSON_PADDING, '\0');
    size_ = text.size();
    const simdjson::padded_string_view padded(text_.data(), size_, text_.size());
    const simdjson::error_code error = parser_.iterate(padded).get(document_);
    if (error == simdjson::SUCCESS) return true;
    error_ = {ErrorCode::kInvalid, std::string("not JSON: ") + simdjson::error_message(error)};
    return false;
  }

  bool Value(ondemand::value value, std::string_view key, int depth, Part part) {
    const std::size_t index = nodes_.size();
    nodes_.emplace_back().key = key;
    const char* start = value.raw_json_token().data();
    if (depth > kMaxJsonDepth) return Fail(start, "nested too deeply");
    ondemand::json_type type{};
    if (!Good(value.type().get(type))) return false;
    if (type == ondemand::json_type::object) {
      if (!Object(value, depth, part)) return false;
      nodes_[index].kind = Kind::kObject;
    } else if (type == ondemand::json_type::array) {
      if (!Array(value, depth)) return false;
      nodes_[index].kind = Kind::kArray;
    } else {
      return Scalar(value, type, index);
    }
    nodes_[index].text =
        WithoutBlanksBehind({start, static_cast<std::size_t>(NextToken() - start)});
    nodes_[index].span = static_cast<std::uint32_t>(nodes_.size() - index);
    return true;
  }

  bool Object(ondemand::value& value, int depth, Part part) {
    ondemand::object object;
    if (!Good(value.get_object().get(object))) return false;
    for (auto member : object) {
      ondemand::field field;
      std::string_view key;
      if (!Good(std::move(member).get(field)) || !Good(field.unescaped_key().get(key))) {
        return false;
      }
      if (part == Part::kMetadata && key == kLeftOut) continue;
      if (!Value(field.value(), key, depth + 1, PartOf(part, key))) return false;
    }
    return true;
  }

  bool Array(ondemand::value& value, int depth) {
    ondemand::array array;
    if (!Good(value.get_array().get(array))) return false;
    for (auto item : array) {
      ondemand::value element;
      if (!Good(item.get(element)) || !Value(element, {}, depth + 1, Part::kOther)) return false;
    }
    return true;
  }

  bool Items(ondemand::value value, const OnItem& on_item) {
    ondemand::array array;
    if (!Good(value.get_array().get(array))) return false;
    for (auto item : array) {
      ondemand::value element;
      nodes_.clear();
      if (!Good(item.get(element)) || !Value(element, {}, 1, Part::kObject)) return false;
      on_item(nodes_.front());
    }
    return true;
  }

  bool LoneWord() {
    std::string_view text = WithoutBlanksBehind(std::string_view(text_).substr(0, size_));
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    JsonNode& node = nodes_.front();
    node.text = text;
    if (text == "true") node.kind = Kind::kTrue;
    if (text == "false") node.kind = Kind::kFalse;
    return node.kind != Kind::kNull || text == "null" ||
           Fail(text.data(), "not true, false or null");
  }

  // `Source`: the document or a value.
  template <typename Source>
  bool Scalar(Source& source, ondemand::json_type type, std::size_t index) {
    JsonNode& node = nodes_[index];
    if (type == ondemand::json_type::string) {
      node.kind = Kind::kString;
      return Good(source.get_string().get(node.text));
    }
    std::string_view token;
    if (!Good(simdjson::simdjson_result<std::string_view>(source.raw_json_token()).get(token))) {
      return false;
    }
    node.text = WithoutBlanksBehind(token);
    if (type == ondemand::json_type::boolean) {
      bool is_true = false;
      if (!Good(source.get_bool().get(is_true))) return false;
      node.kind = is_true ? Kind::kTrue : Kind::kFalse;
      return true;
    }
    if (type == ondemand::json_type::null) {
      bool is_null = false;
      const simdjson::error_code error =
          simdjson::simdjson_result<bool>(source.is_null()).get(is_null);
      return Good(error) && (is_null || Fail(token.data(), "not null"));
    }
    node.kind =
        node.text.find_first_of(".eE") == std::string_view::npos ? Kind::kInteger : Kind::kFloat;
    double any_size = 0;
    return Good(source.get_double().get(any_size));
  }

  bool AtEnd() {
    const bool at_end = document_.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return at_end || Fail(NextToken(), "something follows");
  }

  const char* NextToken() {
    const char* next = nullptr;
    const bool at_end = document_.current_location().get(next) != simdjson::SUCCESS;
    return at_end ? text_.data() + size_ : next;
  }

  bool Good(simdjson::error_code error) {
    return error == simdjson::SUCCESS || Fail(NextToken(), simdjson::error_message(error));
  }

  bool Fail(const char* at, const std::string& why) {
    error_ = {ErrorCode::kInvalid,
              "not JSON at byte " + std::to_string(at - text_.data()) + ": " + why};
    return false;
  }

  std::string text_;
  std::size_t size_ = 0;  // without the padding
  ondemand::parser parser_;
  ondemand::document document_;
  std::vector<JsonNode> nodes_;
  Error error_;
};

JsonText::JsonText() : parser_(std::make_unique<Parser>()) {}
JsonText::~JsonText() = default;

Result<const JsonNode*> JsonText::Parse(std::string_view text) {
  if (!parser_->Whole(text)) return parser_->error();
  return parser_->root();
}

Result<JsonListHead> JsonText::ReadList(std::string_view text, const OnItem& on_item) {
  JsonListHead head;
  if (!parser_->List(text, head, on_item)) return parser_->error();
  return head;
}

}  // namespace berth::api
