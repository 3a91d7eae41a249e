#include "view/manifest_places.h"

#include <algorithm>
#include <deque>

#include "api/yaml/yaml_nodes.h"
#include "base/strings.h"
#include "view/manifest_files.h"

namespace berth::view {
namespace {

using api::YamlNode;

std::string WordIn(const YamlNode& node, const char* field) {
  const YamlNode* found = node.Find(field);
  return found != nullptr && found->is_scalar() ? found->text : "";
}

// The node of the last part of `field` that exists.
const YamlNode& Deepest(const YamlNode& object, const std::vector<std::string>& field) {
  const YamlNode* at = &object;
  for (const std::string& part : field) {
    const YamlNode* next = at->Find(part);
    if (at->is_sequence()) {
      const auto place = ParseInt64(part);
      if (!place || *place < 0 || static_cast<std::size_t>(*place) >= at->items.size()) break;
      next = &at->items[static_cast<std::size_t>(*place)];
    }
    if (next == nullptr) break;
    at = next;
  }
  return *at;
}

// The nodes of a text; none where it cannot be read: its objects have no lines.
std::vector<YamlNode> NodesOf(std::string_view text) {
  auto nodes = api::ParseYamlNodes(text, LimitsOfManifests(text.size()));
  return nodes ? *std::move(nodes) : std::vector<YamlNode>();
}

}  // namespace

struct ManifestPlaces::Nodes {
  struct Known {
    std::size_t file = 0;
    const YamlNode* node = nullptr;
  };

  void Add(std::size_t file, const YamlNode& node) {
    const YamlNode* items = node.Find("items");
    if (items != nullptr && items->is_sequence()) {
      for (const YamlNode& item : items->items) Add(file, item);
      return;
    }
    const YamlNode* metadata = node.Find("metadata");
    if (metadata == nullptr) return;
    const std::string kind = WordIn(node, "kind");
    std::string name = WordIn(*metadata, "name");
    if (name.empty()) {
      const std::string start = WordIn(*metadata, "generateName");
      if (!start.empty()) name = names.Next(kind, start);
    }
    const std::string space = WordIn(*metadata, "namespace");
    by_name[{kind, name}].push_back({file, &node});
    by_name[{kind, (space.empty() ? "default" : space) + "/" + name}].push_back({file, &node});
  }

  std::deque<std::vector<YamlNode>> documents;  // by file; `by_name` points into them
  std::map<std::pair<std::string, std::string>, std::vector<Known>> by_name;
  GeneratedNames names;
};

std::string GeneratedNames::Next(const std::string& kind, const std::string& start) {
  const int count = ++counts_[{kind, start}];
  return start + "*" + (count == 1 ? "" : std::to_string(count));
}

ManifestPlaces::ManifestPlaces() : nodes_(std::make_unique<Nodes>()) {}
ManifestPlaces::~ManifestPlaces() = default;
ManifestPlaces::ManifestPlaces(ManifestPlaces&&) noexcept = default;
ManifestPlaces& ManifestPlaces::operator=(ManifestPlaces&&) noexcept = default;

void ManifestPlaces::Add(const std::string& file, std::string_view text) {
  files_.push_back(file);
  nodes_->documents.push_back(NodesOf(text));
  for (const YamlNode& document : nodes_->documents.back()) {
    nodes_->Add(files_.size() - 1, document);
  }
}

ManifestPlace ManifestPlaces::Find(const std::string& kind, const std::string& name,
                                   const std::vector<std::string>& field, std::size_t which) const {
  const auto found = nodes_->by_name.find({kind, name});
  if (found == nodes_->by_name.end()) return {};
  const Nodes::Known& known = found->second[std::min(which, found->second.size() - 1)];
  return {.file = files_[known.file], .line = Deepest(*known.node, field).line};
}

ManifestPlace ManifestPlaces::FindIn(const std::string& message) const {
  const std::size_t space = message.find(' ');
  const std::size_t colon = message.find(": ");
  if (space == std::string::npos || colon == std::string::npos || colon < space) return {};
  return Find(message.substr(0, space), message.substr(space + 1, colon - space - 1),
              FieldInMessage(message));
}

std::int64_t LineOfRepeatedKey(std::string_view text, std::size_t document,
                               const std::string& path) {
  std::vector<std::string> field = FieldInMessage("object x: " + path + ": twice");
  if (field.empty()) return 0;
  const std::string key = field.back();
  field.pop_back();
  const std::vector<YamlNode> documents = NodesOf(text);
  if (document >= documents.size()) return 0;
  bool seen = false;
  for (const api::YamlField& each : Deepest(documents[document], field).fields) {
    if (!each.name.is_scalar() || each.name.text != key) continue;
    if (seen) return each.name.line;
    seen = true;
  }
  return 0;
}

std::vector<std::string> FieldInMessage(const std::string& message) {
  const std::size_t begin = message.find(": ");
  if (begin == std::string::npos) return {};
  const std::size_t end = message.find(": ", begin + 2);
  if (end == std::string::npos) return {};
  const std::string path = message.substr(begin + 2, end - begin - 2);
  if (path.find(' ') != std::string::npos) return {};
  std::vector<std::string> field;
  for (const std::string_view part : Split(path, '.')) {
    const std::size_t bracket = part.find('[');
    field.emplace_back(part.substr(0, bracket));
    std::string_view rest = bracket == std::string_view::npos ? "" : part.substr(bracket);
    while (!rest.empty() && rest.front() == '[') {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) return field;
      field.emplace_back(rest.substr(1, close - 1));
      rest.remove_prefix(close + 1);
    }
  }
  return field;
}

ManifestPlaces PlacesIn(const std::vector<std::string>& files) {
  ManifestPlaces places;
  for (const std::string& file : files) {
    if (file == "-") continue;
    const Result<std::string> text = ReadTextFile(file);
    if (text) places.Add(file, *text);
  }
  return places;
}

Error AtPlace(const Error& error, const ManifestPlaces& places) {
  const ManifestPlace place = places.FindIn(error.message);
  if (place.file.empty()) return error;
  return Annotate(error, place.file + ":" + std::to_string(place.line));
}

}  // namespace berth::view
