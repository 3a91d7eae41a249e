// api/codec/json_text.h — JSON text for decoding: a flat list of nodes that point into the text.
// simdjson parses the text. For lists of a million objects: a tree of maps costs ten times the time
// and five times the text's memory.
//
//     JsonText text;
//     BERTH_TRY(const JsonNode* root, text.Parse(line));
//     Decode<Workload>(*root)
//
// Parsing is strict RFC 8259: UTF-8 is checked, depth is at most kMaxJsonDepth. Parsing skips the
// metadata.managedFields of an object (of the whole text, of an item of a list, of a watch event's
// "object") and checks only where the field ends: no decoder reads it, and it is a third of the
// text. A managedFields elsewhere is kept, also in the metadata of a pod template: a server never
// writes one there.
//
// Units: bytes. Threads: a JsonText has one user. Errors: kInvalid, with the offset where it is
// known.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::api {

inline constexpr int kMaxJsonDepth = 256;

// One value; its children follow it. Valid until its JsonText parses another text.
struct JsonNode {
  enum class Kind : std::uint8_t {
    kNull,
    kFalse,
    kTrue,
    kInteger,
    kFloat,
    kString,
    kArray,
    kObject
  };

  std::string_view key;    // name of the member, without escapes
  std::string_view text;   // a string: its content, without escapes; other values: the JSON
  std::uint32_t span = 1;  // nodes from here to the next sibling
  Kind kind = Kind::kNull;

  // The last member of that name, or null.
  const JsonNode* Find(std::string_view name) const;
  // Calls `visit(child)` for each member or item.
  template <typename Fn>
  void Each(Fn visit) const {
    for (const JsonNode* child = this + 1; child < this + span; child += child->span) {
      visit(*child);
    }
  }
};

struct JsonListHead {
  std::string resource_version;
  std::string continue_token;
};

class JsonText {
 public:
  using OnItem = std::function<void(const JsonNode& item)>;

  JsonText();
  ~JsonText();
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  // Copies and parses `text`; returns the root node.
  Result<const JsonNode*> Parse(std::string_view text);
  // Reads a Kubernetes list and calls `on_item` for each of its items; the node is valid inside the
  // call only. kInvalid also where the list has "items" twice. `on_item` may have been called for
  // some items of a text that turns out to be invalid.
  Result<JsonListHead> ReadList(std::string_view text, const OnItem& on_item);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace berth::api
