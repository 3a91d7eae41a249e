// view/manifest_objects.h — the objects of manifests with their places, and what is wrong with
// single files and objects: one that cannot be read leaves the others.
//
// Threads: one. Reads files.
#pragma once

#include <string>
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
  // Those of lists one by one. An object with generateName alone has a name that no other has:
  // "train-*", then "train-*2".
  std::vector<nlohmann::json> objects;
  ManifestPlaces places;
  std::vector<PlacedFinding> problems;  // files that are no YAML, and keys that stand twice
  std::vector<std::string> notes;       // on folders that were passed over
};

// True `recursive` includes the folders below the folders of `paths`. kNotFound: a path that does
// not exist, or a folder without such a file; kInvalid: a file that is too large.
Result<ManifestObjects> ReadManifestObjects(const std::vector<std::string>& paths, bool recursive);

// "FILE:LINE: error: Job default/train: … [rule]", without a line's end.
std::string ProblemText(const PlacedFinding& placed);

}  // namespace berth::view
