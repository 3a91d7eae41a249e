// tests/golden/own_outcomes.h — the second column of the golden stories: Berth's decisions, with
// all of its own rules, in the stories where they differ from Kueue's.
//
// A folder of *.jsonl.gz, one row a line: {"id": the story's, "rules": [names of the rules that the
// first difference is due to], "steps": [...] as Settle tells them}.
//
// Threads: data. Errors: as text; empty: no error.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/golden/replay.h"

namespace berth::golden {

// Reads the lines of a file, plain or gzip. Returns the error; empty: none.
std::string ReadLines(const std::string& path, std::vector<std::string>& lines);

class OwnOutcomes {
 public:
  std::string Read(const std::string& folder);
  // Writes a file for each family; files of other families stay.
  std::string Write(const std::string& folder) const;

  void Set(const std::string& family, Json row);
  const Json* Find(const std::string& id) const;  // null: Berth decides as Kueue does
  std::size_t size() const { return rows_.size(); }

 private:
  std::map<std::string, Json> rows_;  // by id
  std::map<std::string, std::string> families_;
};

// The first difference of two rows of one story, in words; empty: none.
std::string WhereRowsDiffer(const Json& expected, const Json& actual);

}  // namespace berth::golden
