// api/codec/json_text.h — JSON text as decoding reads it: a flat list of nodes that point into the
// text, which simdjson reads. A list of a million objects is read with it, where a tree of maps
// costs ten times the time and five times the text's memory.
//
//     JsonText text;
//     BERTH_TRY(const JsonNode* root, text.Parse(line));
//     Decode<Workload>(*root)
//
// Read strictly as RFC 8259 says, UTF-8 checked, at most kMaxJsonDepth deep. metadata.managedFields
// of an object (of the whole text, of an item of a list, of a watch event's "object") is left out,
// and of it little more is checked than that it ends: nobody decodes it, and it is a third of the
// text. Whatever else has that name stays, in the metadata of a pod template, too: a server manages
// no fields there, so it is its owner's and rare.
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

// One value; its children follow it. Good as long as its JsonText reads nothing else.
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

  std::string_view key;    // in its object, without escapes
  std::string_view text;   // of a string what it says, without escapes; of others as it stands
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

  // The root of what the whole of `text` says, which is copied.
  Result<const JsonNode*> Parse(std::string_view text);
  // Reads a Kubernetes list and calls `on_item` for each of its items; the node is good inside the
  // call only. kInvalid also where the list has "items" twice. Where the text turns out to be
  // invalid some items may have been seen.
  Result<JsonListHead> ReadList(std::string_view text, const OnItem& on_item);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace berth::api
