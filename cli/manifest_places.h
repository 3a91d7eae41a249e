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

#include "base/result.h"

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
  // The place that a message of a reader is about: "KIND NAME: FIELD: …", or without a field. No
  // file: the message names no object that is known.
  ManifestPlace FindIn(const std::string& message) const;

 private:
  struct Nodes;

  std::vector<std::string> files_;
  std::unique_ptr<Nodes> nodes_;
};

// The path to the field in "KIND NAME: spec.resourceGroups[0].name: …", places in lists as numbers;
// empty: the message names none.
std::vector<std::string> FieldInMessage(const std::string& message);

// The error of a reader of the files with the place of the object in front: "FILE:LINE: …", or
// unchanged where the message names no object of the files. Reads the files again; "-" has no
// lines.
Error AtPlace(const Error& error, const std::vector<std::string>& files);

}  // namespace berth::cli
