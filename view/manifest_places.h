// view/manifest_places.h — where the objects of manifests and their fields stand, for messages.
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

namespace berth::view {

struct ManifestPlace {
  std::string file;
  std::int64_t line = 0;  // from 1; 0: unknown
  friend bool operator==(const ManifestPlace&, const ManifestPlace&) = default;
};

// Names for objects with generateName alone: "train-*", then "train-*2".
class GeneratedNames {
 public:
  std::string Next(const std::string& kind, const std::string& start);

 private:
  std::map<std::pair<std::string, std::string>, int> counts_;
};

class ManifestPlaces {
 public:
  ManifestPlaces();
  ~ManifestPlaces();
  ManifestPlaces(ManifestPlaces&&) noexcept;
  ManifestPlaces& operator=(ManifestPlaces&&) noexcept;

  // Records the objects of a file that api::ParseYamlStream has read, those in `items` of lists
  // too. A LocalQueue or job without a namespace counts as in "default".
  void Add(const std::string& file, std::string_view text);
  // `name` with or without its namespace; the path to the field may go deeper than the object: its
  // last part that exists counts. `which` chooses among several objects of one kind and name, from
  // 0. An object that is unknown has no file.
  ManifestPlace Find(const std::string& kind, const std::string& name,
                     const std::vector<std::string>& field, std::size_t which = 0) const;
  // The place that a message of a reader is about: "KIND NAME: FIELD: …", or without a field. The
  // result has no file if the message names no known object.
  ManifestPlace FindIn(const std::string& message) const;

 private:
  struct Nodes;

  std::vector<std::string> files_;
  std::unique_ptr<Nodes> nodes_;
};

// The line where the key of `path` ("spec.items[0].name") stands for the second time in its map.
// `document`: the position of the document among the documents of `text` that are not empty.
// Returns 0 if the key does not stand twice.
std::int64_t LineOfRepeatedKey(std::string_view text, std::size_t document,
                               const std::string& path);

// The path to the field in "KIND NAME: spec.resourceGroups[0].name: …", places in lists as numbers;
// empty: the message names none.
std::vector<std::string> FieldInMessage(const std::string& message);

// Reads the files; "-" and files that cannot be read have no places.
ManifestPlaces PlacesIn(const std::vector<std::string>& files);

// The error of a reader of manifests with the place of the object in front: "FILE:LINE: …", or
// unchanged where the message names no known object.
Error AtPlace(const Error& error, const ManifestPlaces& places);

}  // namespace berth::view
