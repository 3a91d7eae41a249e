// tests/local/apiserver/vectors.h — test data that tools/vectors wrote with Kubernetes' libraries.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

// The lines of testdata/NAME. Empty when the file cannot be read: tests check the count.
inline std::vector<Json> ReadVectors(const std::string& name) {
  std::vector<Json> vectors;
  std::ifstream file(std::string(BERTH_VECTOR_FOLDER) + "/" + name);
  for (std::string line; std::getline(file, line);) vectors.push_back(Json::parse(line));
  return vectors;
}

}  // namespace berth::local
