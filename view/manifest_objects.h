// view/manifest_objects.h — the objects of manifests with their places, and the problems of single
// files and objects. A file or object that cannot be read does not affect the others.
//
// Threads: one. Reads files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "simulation/lint.h"
#include "view/manifest_places.h"

namespace berth::view {

struct PlacedFinding {
  ManifestPlace place;
  simulation::LintFinding finding;
};

struct ManifestObjects {
  // The items of lists are separate objects. An object with generateName alone gets a unique name:
  // "train-*", then "train-*2".
  std::vector<nlohmann::json> objects;
  ManifestPlaces places;
  std::vector<PlacedFinding> problems;  // files that are not YAML, and repeated keys
  std::vector<std::string> notes;       // sentences about folders that were passed over
};

// True `recursive` includes the folders below the folders of `paths`. kNotFound: a path that does
// not exist, or a folder without such a file; kInvalid: a file that is too large.
Result<ManifestObjects> ReadManifestObjects(const std::vector<std::string>& paths, bool recursive);

// The same for texts, each behind the name of its file; nothing is read.
ManifestObjects ManifestObjectsOf(const std::vector<std::pair<std::string, std::string>>& texts);

// "FILE:LINE: error: Job default/train: … [rule]", without a line's end.
std::string ProblemText(const PlacedFinding& placed);

}  // namespace berth::view
