// Converts YAML events to JSON. Builds values directly from the parser's events: an alias copies
// the value of its anchor, and each copy counts against the node limit.
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "api/codec/json_write.h"
#include "api/yaml/scalar.h"
#include "api/yaml/yaml.h"
#include "base/strings.h"

namespace berth::api {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxReportedDuplicates = 64;
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

struct Problem {  // thrown in this file only, to stop the parser
  int line;
  std::string text;
};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const YamlLimits& limits) : limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {
    root_ = Json();
    stack_.clear();
    anchors_.clear();
    duplicates_.clear();
    node_count_ = 0;
    anchored_nodes_ = 0;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Count(mark, 1);
    Put(mark, anchor, nullptr, Style::kPlain, "");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) throw Problem{mark.line, "an anchor contains itself"};
    Count(mark, at->second.node_count);
    Put(mark, 0, at->second.value, Style::kAlias, "");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Count(mark, 1);
    // The parser turns each of these two escapes into a single byte, which is no UTF-8.
    if (!IsValidUtf8(value)) {
      throw Problem{mark.line, "the escapes \\N and \\_ are not read: write \\u0085 and \\u00a0"};
    }
    const bool plain = tag == "?";
    if (!plain) last_quoted_ = mark.pos;
    Put(mark, anchor, Resolve(mark, tag, value), plain ? Style::kPlain : Style::kQuoted, value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, anchor, Json::array());
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, anchor, Json::object());
  }
  void OnMapEnd() override { Close(); }

  // The position of the last quoted scalar of the stream; -1 for none.
  int last_quoted() const { return last_quoted_; }

  YamlDocument Take() {
    return YamlDocument{std::exchange(root_, Json()), std::exchange(duplicates_, {})};
  }

 private:
  enum class Style { kPlain, kQuoted, kAlias, kContainer };

  struct Frame {
    Json value;
    YAML::anchor_t anchor = 0;
    int line = 0;
    std::size_t nodes_before = 0;
    bool has_key = false;
    bool merging = false;  // the pending key is `<<`
    std::string key;
    std::set<std::string> explicit_keys;
  };
  struct Anchor {
    Json value;
    std::size_t node_count = 0;
  };

  void Count(const YAML::Mark& mark, std::size_t nodes) {
    node_count_ += nodes;
    if (node_count_ > limits_.max_nodes) {
      throw Problem{mark.line, "more than " + std::to_string(limits_.max_nodes) +
                                   " values after aliases are expanded"};
    }
  }

  static Json Resolve(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
    if (tag == "!") return text;
    if (tag == "?") {
      auto value = ResolvePlainScalar(text);
      if (!value) throw Problem{mark.line, "JSON has no " + text};
      return *std::move(value);
    }
    if (tag.rfind(kTagPrefix, 0) != 0) return text;
    const std::string kind = tag.substr(kTagPrefix.size());
    if (kind == "null") {
      if (ResolvePlainScalar(text) != Json(nullptr)) {
        throw Problem{mark.line, "cannot decode `" + text + "` as a !!null"};
      }
      return nullptr;
    }
    if (kind == "binary") {
      const auto bytes = Base64Decode(text);
      if (!bytes) throw Problem{mark.line, "!!binary value contains invalid base64 data"};
      return ReplaceInvalidUtf8(*bytes);
    }
    if (kind != "int" && kind != "float" && kind != "bool") return text;
    auto value = ResolvePlainScalar(text);
    const bool fits = value && (kind == "bool" ? value->is_boolean() : value->is_number());
    if (!fits) throw Problem{mark.line, "cannot decode `" + text + "` as a !!" + kind};
    return *std::move(value);
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Json container) {
    if (stack_.size() >= limits_.max_depth) {
      throw Problem{mark.line,
                    "nested deeper than " + std::to_string(limits_.max_depth) + " levels"};
    }
    if (!stack_.empty() && stack_.back().value.is_object() && !stack_.back().has_key) {
      throw Problem{mark.line, "a map key must be a scalar"};
    }
    const std::size_t before = node_count_;
    Count(mark, 1);
    Frame frame;
    frame.value = std::move(container);
    frame.anchor = anchor;
    frame.line = mark.line;
    frame.nodes_before = before;
    stack_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    YAML::Mark mark;
    mark.line = frame.line;
    const std::size_t nodes = node_count_ - frame.nodes_before;
    if (frame.anchor != 0) {
      // Nested anchors would keep a copy for each level.
      anchored_nodes_ += nodes;
      if (anchored_nodes_ > limits_.max_nodes) {
        throw Problem{frame.line,
                      "anchors hold more than " + std::to_string(limits_.max_nodes) + " values"};
      }
      anchors_[frame.anchor] = Anchor{frame.value, nodes};
    }
    Put(mark, 0, std::move(frame.value), Style::kContainer, "");
  }

  void Put(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, Style style,
           const std::string& text) {
    if (anchor != 0) anchors_[anchor] = Anchor{value, 1};
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.value.is_array()) {
      frame.value.push_back(std::move(value));
      return;
    }
    if (!frame.has_key) {
      TakeKey(mark, frame, value, style, text);
      return;
    }
    frame.has_key = false;
    if (frame.merging) {
      MergeInto(mark, frame, value);
      return;
    }
    frame.value[frame.key] = std::move(value);
  }

  void TakeKey(const YAML::Mark& mark, Frame& frame, const Json& value, Style style,
               const std::string& text) {
    frame.has_key = true;
    frame.merging = style == Style::kPlain && text == "<<";
    if (frame.merging) return;
    if (value.is_string()) {
      frame.key = value.get<std::string>();
    } else if (value.is_boolean() || value.is_number()) {
      frame.key = FormatJson(value);
    } else {
      throw Problem{mark.line, "a map key must be a string, number or boolean"};
    }
    if (!frame.explicit_keys.insert(frame.key).second &&
        duplicates_.size() < kMaxReportedDuplicates) {
      duplicates_.push_back(PathOf(frame.key));
    }
  }

  // A later key wins, merged or explicit; if several maps are merged, the first wins.
  static void MergeInto(const YAML::Mark& mark, Frame& frame, const Json& source) {
    if (source.is_array()) {
      for (std::size_t i = source.size(); i-- > 0;) MergeInto(mark, frame, source[i]);
      return;
    }
    if (!source.is_object()) throw Problem{mark.line, "map merge requires map or sequence of maps"};
    for (const auto& [key, value] : source.items()) {
      frame.value[key] = value;
    }
  }

  std::string PathOf(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < stack_.size(); ++i) {
      const Frame& frame = stack_[i];
      if (frame.value.is_array()) {
        path += "[" + std::to_string(frame.value.size()) + "]";
      } else {
        path += (path.empty() ? "" : ".") + frame.key;
      }
    }
    return path + (path.empty() ? "" : ".") + key;
  }

  YamlLimits limits_;
  int last_quoted_ = -1;
  Json root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Anchor> anchors_;
  std::vector<std::string> duplicates_;
  std::size_t node_count_ = 0;
  std::size_t anchored_nodes_ = 0;  // in anchored containers, each of which is copied
};

// The parser accepts the end of the text as a closing quote; only the last quote can be open.
bool IsQuoteOpen(std::string_view text, int position) {
  if (position < 0 || static_cast<std::size_t>(position) >= text.size()) return false;
  const auto start = static_cast<std::size_t>(position);
  const char quote = text[start];
  if (quote != '"' && quote != '\'') return false;
  for (std::size_t i = start + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return false;
    }
  }
  return true;
}

Error Refuse(int line, const std::string& text) {
  return Error{ErrorCode::kInvalid, "yaml: line " + std::to_string(line + 1) + ": " + text};
}

// The first character that YAML forbids in a stream; nullopt: none. The parser would accept such
// characters as text, and read a text with zero bytes as UTF-16 or UTF-32.
std::optional<Error> FindForbiddenCharacter(std::string_view text) {
  int line = 0;
  int column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    at += character.bytes;
    ++column;
    if (character.code == '\n') {
      ++line;
      column = 0;
    }
    if (IsAllowedInStream(character.code)) continue;
    std::array<char, 16> escape{};
    std::snprintf(escape.data(), escape.size(), character.code < 0x100 ? "\\x%02X" : "\\u%04X",
                  static_cast<unsigned>(character.code));
    return Refuse(line, "column " + std::to_string(column) +
                            ": control characters are not allowed: write " + escape.data() +
                            " in double quotes");
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<YamlDocument>> ParseYamlStream(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error{ErrorCode::kInvalid,
                 "yaml: larger than " + std::to_string(limits.max_bytes) + " bytes"};
  }
  if (!IsValidUtf8(text)) return Error{ErrorCode::kInvalid, "yaml: the text is not UTF-8"};
  if (const std::optional<Error> error = FindForbiddenCharacter(text)) return *error;
  std::vector<YamlDocument> documents;
  try {
    std::istringstream input{std::string(text)};
    YAML::Parser parser(input);
    Builder builder(limits);
    // The parser repeats an empty document before a lone "," for ever: empty documents count.
    for (std::size_t count = 1; parser.HandleNextDocument(builder); ++count) {
      if (count > limits.max_documents) {
        return Error{ErrorCode::kInvalid,
                     "yaml: more than " + std::to_string(limits.max_documents) + " documents"};
      }
      YamlDocument document = builder.Take();
      if (document.value.is_null()) continue;
      documents.push_back(std::move(document));
    }
    if (IsQuoteOpen(text, builder.last_quoted())) {
      return Error{ErrorCode::kInvalid, "yaml: a quoted text does not end"};
    }
  } catch (const Problem& problem) {
    return Refuse(problem.line, problem.text);
  } catch (const YAML::Exception& error) {
    return Refuse(error.mark.line, error.msg);
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalid, std::string("yaml: ") + error.what()};
  }
  return documents;
}

Result<YamlDocument> ParseYaml(std::string_view text, const YamlLimits& limits) {
  BERTH_TRY(std::vector<YamlDocument> documents, ParseYamlStream(text, limits));
  if (documents.empty()) return YamlDocument{};
  if (documents.size() > 1) {
    return Error{ErrorCode::kInvalid,
                 "yaml: one document expected, found " + std::to_string(documents.size())};
  }
  return std::move(documents.front());
}

}  // namespace berth::api
