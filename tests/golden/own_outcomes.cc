#include "tests/golden/own_outcomes.h"

#include <algorithm>
#include <filesystem>

#include <zlib.h>

namespace berth::golden {

std::string ReadLines(const std::string& path, std::vector<std::string>& lines) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files too
  if (file == nullptr) return "cannot read " + path;
  std::string line;
  std::vector<char> buffer(1 << 16);
  int size = 0;
  while ((size = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    for (int i = 0; i < size; ++i) {
      if (buffer[static_cast<std::size_t>(i)] != '\n') {
        line += buffer[static_cast<std::size_t>(i)];
        continue;
      }
      lines.push_back(std::move(line));
      line.clear();
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  const bool whole = size == 0 && gzclose(file) == Z_OK;
  return whole ? "" : path + " is cut off or damaged";
}

std::string OwnOutcomes::Read(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    files.push_back(entry.path().string());
  }
  if (error) return folder + ": " + error.message();
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    std::vector<std::string> lines;
    if (std::string problem = ReadLines(file, lines); !problem.empty()) return problem;
    const std::string family = std::filesystem::path(file).filename().string();
    for (const std::string& line : lines) {
      Json row = Json::parse(line, nullptr, false);
      if (!row.is_object() || !row.contains("id")) return file + ": a line is not a row";
      Set(family.substr(0, family.find('.')), std::move(row));
    }
  }
  return "";
}

std::string OwnOutcomes::Write(const std::string& folder) const {
  std::map<std::string, std::string> texts;
  for (const auto& [id, row] : rows_) texts[families_.at(id)] += row.dump() + "\n";
  for (const auto& [family, text] : texts) {
    const std::string path = folder + "/" + family + ".jsonl.gz";
    gzFile file = gzopen(path.c_str(), "wb9");
    if (file == nullptr) return "cannot write " + path;
    const int written = gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    if (gzclose(file) != Z_OK || written <= 0) return "cannot write " + path;
  }
  return "";
}

void OwnOutcomes::Set(const std::string& family, Json row) {
  const std::string id = row.value("id", "");
  families_[id] = family;
  rows_[id] = std::move(row);
}

const Json* OwnOutcomes::Find(const std::string& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

std::string WhereRowsDiffer(const Json& expected, const Json& actual) {
  const auto tell = [](const std::string& where, const Json& left, const Json& right) {
    return where + "\n  expected " + left.dump() + "\n  actual   " + right.dump();
  };
  const auto at = [](const Json& list, std::size_t index) {
    return index < list.size() ? list[index] : Json();
  };
  if (expected.value("rules", Json()) != actual.value("rules", Json())) {
    return tell("rules", expected.value("rules", Json()), actual.value("rules", Json()));
  }
  const Json left = expected.value("steps", Json::array());
  const Json right = actual.value("steps", Json::array());
  for (std::size_t step = 0; step < std::max(left.size(), right.size()); ++step) {
    const Json left_trace = at(left, step).value("trace", Json::array());
    const Json right_trace = at(right, step).value("trace", Json::array());
    const std::string number = "step " + std::to_string(step);
    for (std::size_t item = 0; item < std::max(left_trace.size(), right_trace.size()); ++item) {
      if (at(left_trace, item) == at(right_trace, item)) continue;
      return tell(number + ", item " + std::to_string(item), at(left_trace, item),
                  at(right_trace, item));
    }
    if (at(left, step) != at(right, step)) {
      return tell(number + ", state at the end", at(left, step)["state"], at(right, step)["state"]);
    }
  }
  return "";
}

}  // namespace berth::golden
