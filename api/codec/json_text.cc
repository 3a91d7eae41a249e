#include "api/codec/json_text.h"

#include "api/codec/json_parser.h"

namespace berth::api {

const JsonNode* JsonNode::Find(std::string_view name) const {
  const JsonNode* found = nullptr;
  Each([&](const JsonNode& child) {
    if (child.key == name) found = &child;
  });
  return found;
}

namespace {

Error NotJson(const JsonParser& parser) {
  return Error{ErrorCode::kInvalid, "not JSON at byte " + std::to_string(parser.offset())};
}

std::string StringOf(const JsonNode& object, std::string_view name) {
  const JsonNode* value = object.Find(name);
  return value != nullptr && value->kind == JsonNode::Kind::kString ? std::string(value->text)
                                                                    : std::string();
}

}  // namespace

Result<const JsonNode*> JsonText::Parse(std::string_view text) {
  nodes_.clear();
  unescaped_.clear();
  JsonParser parser(text, nodes_, unescaped_);
  if (!parser.Value({}, 1) || !parser.AtEnd()) return NotJson(parser);
  return static_cast<const JsonNode*>(nodes_.data());
}

namespace {

// Walks the outermost object itself, so that the nodes of one item at a time are there.
class ListReader {
 public:
  using OnItem = std::function<void(const JsonNode&)>;

  explicit ListReader(std::string_view text) : parser_(text, nodes_, unescaped_) {}

  Result<JsonListHead> Read(const OnItem& on_item) {
    if (!parser_.Take('{')) return NotJson(parser_);
    if (!parser_.Take('}')) {
      do {
        if (!Member(on_item)) return NotJson(parser_);
      } while (parser_.Take(','));
      if (!parser_.Take('}')) return NotJson(parser_);
    }
    if (!parser_.AtEnd()) return NotJson(parser_);
    return std::move(head_);
  }

 private:
  bool Member(const OnItem& on_item) {
    std::string_view key;
    if (parser_.AtEnd() || !parser_.String(key) || !parser_.Take(':')) return false;
    if (key == "items" && parser_.Take('[')) return Items(on_item);
    const bool is_metadata = key == "metadata";
    Clear();
    if (!parser_.Value({}, 1)) return false;
    if (!is_metadata) return true;
    head_.resource_version = StringOf(nodes_.front(), "resourceVersion");
    head_.continue_token = StringOf(nodes_.front(), "continue");
    return true;
  }

  bool Items(const OnItem& on_item) {
    if (parser_.Take(']')) return true;
    do {
      Clear();
      if (!parser_.Value({}, 1)) return false;
      on_item(nodes_.front());
    } while (parser_.Take(','));
    return parser_.Take(']');
  }

  void Clear() {
    nodes_.clear();
    unescaped_.clear();
  }

  std::vector<JsonNode> nodes_;
  std::deque<std::string> unescaped_;
  JsonParser parser_;
  JsonListHead head_;
};

}  // namespace

Result<JsonListHead> ReadJsonList(std::string_view text,
                                  const std::function<void(const JsonNode& item)>& on_item) {
  return ListReader(text).Read(on_item);
}

}  // namespace berth::api
