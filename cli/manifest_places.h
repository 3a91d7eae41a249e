// cli/manifest_places.h — where the objects of manifests and their fields stand, for messages.
//
// Threads: one. Nothing throws.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::cli {

struct ManifestPlace {
  std::string file;
  std::int64_t line = 0;  // from 1; 0: unknown
  friend bool operator==(const ManifestPlace&, const ManifestPlace&) = default;
};

class ManifestPlaces {
 public:
  ManifestPlaces();
  ~ManifestPlaces();

  // Notes the objects of a file that api::ParseYamlStream has read, those in `items` of lists too.
  // A LocalQueue or job without a namespace counts as in "default".
  void Add(const std::string& file, std::string_view text);
  // `name` with or without its namespace; the path to the field may go deeper than the object: its
  // last part that exists counts. An object that is unknown has no file.
  ManifestPlace Find(const std::string& kind, const std::string& name,
                     const std::vector<std::string>& field) const;

 private:
  struct Nodes;

  std::vector<std::string> files_;
  std::unique_ptr<Nodes> nodes_;
};

}  // namespace berth::cli
