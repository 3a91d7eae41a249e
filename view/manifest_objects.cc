#include "view/manifest_objects.h"

#include <optional>
#include <utility>

#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "view/manifest_files.h"
#include "view/screens/json_at.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;
using simulation::LintSeverity;

// The line of "yaml: line 3: …"; 1: the message names none.
std::int64_t LineIn(const std::string& message) {
  constexpr std::string_view kWords = "line ";
  const std::size_t at = message.find(kWords);
  if (at == std::string::npos) return 1;
  std::string digits;
  for (const char each : message.substr(at + kWords.size())) {
    if (each < '0' || each > '9') break;
    digits += each;
  }
  return ParseInt64(digits).value_or(1);
}

class ObjectsOfFiles {
 public:
  Status Read(const std::string& file) {
    BERTH_TRY(const std::string text, ReadTextFile(file));
    Add(file, text);
    return OkStatus();
  }

  void Add(const std::string& file, const std::string& text) {
    const auto read = ParseManifestText(text);
    if (!read) {
      const std::string& message = read.error().message;
      made_.problems.push_back({{file, LineIn(message)},
                                {.severity = LintSeverity::kError,
                                 .rule = "not-readable",
                                 .kind = {},
                                 .name = {},
                                 .field = {},
                                 .message = message}});
      return;
    }
    for (std::size_t i = 0; i < read->size(); ++i) {
      for (const std::string& key : (*read)[i].duplicate_keys) {
        AddRepeatedKey({file, LineOfRepeatedKey(text, i, key)}, (*read)[i].value, key);
      }
      AddFlat((*read)[i].value);
    }
    made_.places.Add(file, text);
  }

  ManifestObjects Take() { return std::move(made_); }

 private:
  void AddRepeatedKey(ManifestPlace place, const Json& object, const std::string& key) {
    made_.problems.push_back(
        {std::move(place),
         {.severity = LintSeverity::kError,
          .rule = "key-twice",
          .kind = TextAt(object, "/kind"),
          .name = TextAt(object, "/metadata/name"),
          .field = FieldInMessage("object x: " + key + ": twice"),
          .message =
              key + ": duplicate key: kubectl refuses the object; here the last one counts"}});
  }

  void AddFlat(const Json& document) {
    if (!document.is_object()) return;
    const auto items = document.find("items");
    if (items == document.end() || !items->is_array()) return AddNamed(document);
    for (const Json& item : *items) {
      if (item.is_object()) AddNamed(item);
    }
  }

  void AddNamed(const Json& object) {
    made_.objects.push_back(object);
    const std::string start = TextAt(object, "/metadata/generateName");
    if (start.empty() || !TextAt(object, "/metadata/name").empty()) return;
    made_.objects.back()["metadata"]["name"] = names_.Next(TextAt(object, "/kind"), start);
  }

  ManifestObjects made_;
  GeneratedNames names_;
};

}  // namespace

Result<ManifestObjects> ReadManifestObjects(const std::vector<std::string>& paths, bool recursive) {
  std::vector<std::string> passed_over;
  BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(paths, recursive, &passed_over));
  ObjectsOfFiles objects;
  for (const std::string& file : files) BERTH_CHECK_OK(objects.Read(file));
  ManifestObjects made = objects.Take();
  for (const std::string& folder : passed_over) {
    made.notes.push_back(folder + " is skipped: -R reads the folders in a folder, too");
  }
  return made;
}

ManifestObjects ManifestObjectsOf(const std::vector<std::pair<std::string, std::string>>& texts) {
  ObjectsOfFiles objects;
  for (const auto& [file, text] : texts) objects.Add(file, text);
  return objects.Take();
}

std::string ProblemText(const PlacedFinding& placed) {
  const simulation::LintFinding& found = placed.finding;
  std::string text = placed.place.file + ":" + std::to_string(placed.place.line) + ": " +
                     ToString(found.severity) + ": ";
  if (!found.kind.empty()) text += found.kind + " " + found.name + ": ";
  return text + found.message + " [" + found.rule + "]";
}

}  // namespace berth::view
