// tests/golden/own_outcomes.h — the second column of the golden stories: Berth's decisions, with
// all of its own rules, in the stories where they differ from Kueue's.
//
// A folder of *.jsonl.gz, one row a line: {"id": the story's, "rules": [names of the rules that the
// first difference is due to], "steps": [...] as Settle tells them}.
//
// Threads: data. Errors: text that is not empty says what is wrong.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/golden/replay.h"

namespace berth::golden {

// Lines of a file, plain or gzip. Empty: read to its end; else what went wrong.
std::string ReadLines(const std::string& path, std::vector<std::string>& lines);

class OwnOutcomes {
 public:
  std::string Read(const std::string& folder);
  // A file for each family; those that are there for other families stay.
  std::string Write(const std::string& folder) const;

  void Set(const std::string& family, Json row);
  const Json* Find(const std::string& id) const;  // null: Berth decides as Kueue
  std::size_t size() const { return rows_.size(); }

 private:
  std::map<std::string, Json> rows_;  // by id
  std::map<std::string, std::string> families_;
};

// Where two rows of the same story part, in words; empty: nowhere.
std::string WhereRowsDiffer(const Json& expected, const Json& actual);

}  // namespace berth::golden
