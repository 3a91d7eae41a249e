// Converts YAML events to JSON. Builds values directly from the events: an alias copies
// the value of its anchor, and each copy counts against the node limit.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/codec/json_write.h"
#include "api/yaml/scalar.h"
#include "api/yaml/yaml.h"
#include "api/yaml/yaml_events.h"
#include "base/strings.h"

namespace berth::api {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxReportedDuplicates = 64;
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

class Builder {
 public:
  explicit Builder(const YamlLimits& limits) : limits_(limits), count_(limits) {}

  std::vector<YamlDocument> Read(YamlEvents& events) {
    std::vector<YamlDocument> documents;
    for (;;) {
      const yaml_event_t& event = events.Next();
      if (event.type == YAML_STREAM_END_EVENT) return documents;
      if (event.type == YAML_DOCUMENT_START_EVENT) {
        Begin();
      } else if (event.type == YAML_DOCUMENT_END_EVENT) {
        if (!root_.is_null()) {
          documents.push_back({std::move(root_), std::exchange(duplicates_, {})});
        }
      } else {
        Add(event);
      }
    }
  }

 private:
  enum class Style { kPlain, kQuoted, kAlias, kContainer };

  struct Frame {
    Json value;
    std::string anchor;  // "": none
    std::size_t line = 0;
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

  void Begin() {
    root_ = Json();
    stack_.clear();
    anchors_.clear();
    duplicates_.clear();
    count_ = YamlNodeCount(limits_);
  }

  void Add(const yaml_event_t& event) {
    const std::size_t line = event.start_mark.line;
    switch (event.type) {
      case YAML_ALIAS_EVENT: return AddAlias(line, TextOf(event.data.alias.anchor));
      case YAML_SCALAR_EVENT: return AddScalar(line, event);
      case YAML_SEQUENCE_START_EVENT:
        return Open(line, TextOf(event.data.sequence_start.anchor), Json::array());
      case YAML_MAPPING_START_EVENT:
        return Open(line, TextOf(event.data.mapping_start.anchor), Json::object());
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: return Close();
      default: return;
    }
  }

  void AddAlias(std::size_t line, std::string_view name) {
    const auto at = anchors_.find(name);
    if (at == anchors_.end()) {
      const bool open = std::any_of(stack_.begin(), stack_.end(),
                                    [name](const Frame& frame) { return frame.anchor == name; });
      throw YamlProblem{line, open ? "anchor '" + std::string(name) + "' value contains itself"
                                   : "unknown anchor '" + std::string(name) + "' referenced"};
    }
    count_.Add(line, at->second.node_count);
    Put(line, "", at->second.value, Style::kAlias, "");
  }

  void AddScalar(std::size_t line, const yaml_event_t& event) {
    count_.Add(line, 1);
    const std::string text(ScalarOf(event));
    const bool plain = IsPlain(event);
    const auto resolved = [&]() -> Json {
      if (!plain) return ResolveTagged(line, TextOf(event.data.scalar.tag), text);
      auto value = ResolvePlainScalar(text);
      if (!value) throw YamlProblem{line, "JSON has no " + text};
      return *std::move(value);
    };
    Put(line, TextOf(event.data.scalar.anchor), resolved(), plain ? Style::kPlain : Style::kQuoted,
        text);
  }

  // The value of a scalar that is quoted or has a tag.
  static Json ResolveTagged(std::size_t line, std::string_view tag, const std::string& text) {
    if (tag.substr(0, kTagPrefix.size()) != kTagPrefix) return text;
    const std::string kind(tag.substr(kTagPrefix.size()));
    if (kind == "null") {
      if (ResolvePlainScalar(text) != Json(nullptr)) {
        throw YamlProblem{line, "cannot decode `" + text + "` as a !!null"};
      }
      return nullptr;
    }
    if (kind == "binary") {
      const auto bytes = Base64Decode(text);
      if (!bytes) throw YamlProblem{line, "!!binary value contains invalid base64 data"};
      return ReplaceInvalidUtf8(*bytes);
    }
    if (kind != "int" && kind != "float" && kind != "bool") return text;
    auto value = ResolvePlainScalar(text);
    const bool fits = value && (kind == "bool" ? value->is_boolean() : value->is_number());
    if (!fits) throw YamlProblem{line, "cannot decode `" + text + "` as a !!" + kind};
    return *std::move(value);
  }

  void Open(std::size_t line, std::string_view anchor, Json container) {
    if (stack_.size() >= limits_.max_depth) {
      throw YamlProblem{line,
                        "nested deeper than " + std::to_string(limits_.max_depth) + " levels"};
    }
    if (!stack_.empty() && stack_.back().value.is_object() && !stack_.back().has_key) {
      throw YamlProblem{line, "a map key must be a scalar"};
    }
    const std::size_t before = count_.total();
    count_.Add(line, 1);
    Frame frame;
    frame.value = std::move(container);
    frame.anchor = anchor;
    frame.line = line;
    frame.nodes_before = before;
    stack_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    const std::size_t nodes = count_.total() - frame.nodes_before;
    if (!frame.anchor.empty()) {
      count_.AddCopied(frame.line, nodes);
      anchors_[frame.anchor] = Anchor{frame.value, nodes};
    }
    Put(frame.line, "", std::move(frame.value), Style::kContainer, "");
  }

  void Put(std::size_t line, std::string_view anchor, Json value, Style style,
           const std::string& text) {
    if (!anchor.empty()) anchors_[std::string(anchor)] = Anchor{value, 1};
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
      TakeKey(line, frame, value, style, text);
      return;
    }
    frame.has_key = false;
    if (frame.merging) {
      MergeInto(line, frame, value);
      return;
    }
    frame.value[frame.key] = std::move(value);
  }

  void TakeKey(std::size_t line, Frame& frame, const Json& value, Style style,
               const std::string& text) {
    frame.has_key = true;
    frame.merging = style == Style::kPlain && text == "<<";
    if (frame.merging) return;
    if (value.is_string()) {
      frame.key = value.get<std::string>();
    } else if (value.is_boolean() || value.is_number()) {
      frame.key = FormatJson(value);
    } else {
      throw YamlProblem{line, "a map key must be a string, number or boolean"};
    }
    if (!frame.explicit_keys.insert(frame.key).second &&
        duplicates_.size() < kMaxReportedDuplicates) {
      duplicates_.push_back(PathOf(frame.key));
    }
  }

  // A later key wins, merged or explicit; if several maps are merged, the first wins.
  static void MergeInto(std::size_t line, Frame& frame, const Json& source) {
    if (source.is_array()) {
      for (std::size_t i = source.size(); i-- > 0;) MergeInto(line, frame, source[i]);
      return;
    }
    if (!source.is_object()) throw YamlProblem{line, "map merge requires map or sequence of maps"};
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

  const YamlLimits limits_;
  YamlNodeCount count_;
  Json root_;
  std::vector<Frame> stack_;
  std::map<std::string, Anchor, std::less<>> anchors_;
  std::vector<std::string> duplicates_;
};

}  // namespace

Result<std::vector<YamlDocument>> ParseYamlStream(std::string_view text, const YamlLimits& limits) {
  return ReadYaml(text, limits,
                  [&limits](YamlEvents& events) { return Builder(limits).Read(events); });
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
