// golden FILE... [--jobs N] [--show N] [--shrink] [--story ID] [--own-rules[=NAME,NAME]]
// [--explain | --settle]: replays recorded stories. Kueue's rules hold everywhere, unless
// --own-rules selects Berth's: all of its own rules, or the named ones
// (docs/reference/differences.md).
//
// Files are *.jsonl or *.jsonl.gz, one story a line. Prints counts per family, the first story that
// differs (--show: the first N, at the strength where they differ first) with a shrunk version of
// it (--shrink: of all that are shown), and ends with "golden: N stories, A n, B n, C n": how many
// agree at each strength. Exit status 1 if any story differs at C or cannot be read, or a file ends
// in the middle of one; 2 for a bad command line.
//
// --explain: names, for each story that differs with the own rules, the rule of the first
// difference: the rule alone makes that difference, or all others without it do not. Status 1 if no
// rule explains a story.
// --settle: plays each story on its own (tests/golden/settle.h) and counts the stories that come to
// rest, and the workloads evicted. Status 1 if one does not come to rest.
// --outcomes FOLDER: with all own rules, each story is decided as Kueue does, or as its row in
// FOLDER says (tests/golden/own_outcomes.h), by the rules that the row names. Status 1 if not.
// --record FOLDER: writes those rows.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/golden/own_outcomes.h"
#include "tests/golden/replay.h"
#include "tests/golden/settle.h"

namespace berth::golden {
namespace {

struct Options {
  std::vector<std::string> files;
  unsigned jobs = 1;
  std::size_t show = 1;
  bool shrink = false;
  enum class Mode { kCompare, kExplain, kSettle, kOutcomes, kRecord } mode = Mode::kCompare;
  std::string folder;  // the folder of kOutcomes and kRecord
  admission::OwnRules own_rules = admission::OwnRules::None();
  std::string story;
};

struct Counts {
  std::size_t stories = 0;
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t c = 0;
};

int Usage() {
  std::cerr
      << "usage: golden [--jobs N] [--show N] [--shrink] [--story ID] [--own-rules[=NAME,NAME]]\n"
         "              [--explain | --settle] FILE...\n"
         "       golden [--jobs N] [--show N] --outcomes FOLDER | --record FOLDER FILE...\nrules:";
  for (const std::string_view rule : admission::RuleNames()) std::cerr << " " << rule;
  std::cerr << "\n";
  return 2;
}

// `names`: separated by commas; the others are off.
bool SetRules(const std::string& names, admission::OwnRules& rules) {
  rules = admission::OwnRules::None();
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    if (!rules.Set(name, true)) return false;
  }
  return !names.empty();
}

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&](auto& value) {
      if (++i >= argc) return false;
      value =
          static_cast<std::remove_reference_t<decltype(value)>>(std::strtoul(argv[i], nullptr, 10));
      return true;
    };
    if (argument == "--jobs") {
      if (!number(options.jobs) || options.jobs == 0) return false;
    } else if (argument == "--show") {
      if (!number(options.show)) return false;
    } else if (argument == "--shrink") {
      options.shrink = true;
    } else if (argument == "--own-rules") {
      options.own_rules = admission::OwnRules{};
    } else if (argument.starts_with("--own-rules=")) {
      if (!SetRules(argument.substr(argument.find('=') + 1), options.own_rules)) return false;
    } else if (argument == "--explain") {
      options.mode = Options::Mode::kExplain;
    } else if (argument == "--settle") {
      options.mode = Options::Mode::kSettle;
    } else if (argument == "--outcomes" || argument == "--record") {
      options.mode = argument == "--record" ? Options::Mode::kRecord : Options::Mode::kOutcomes;
      options.own_rules = admission::OwnRules{};
      if (++i >= argc) return false;
      options.folder = argv[i];
    } else if (argument == "--story") {
      if (++i >= argc) return false;
      options.story = argv[i];
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      options.files.push_back(argument);
    }
  }
  return !options.files.empty();
}

class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)) {}

  int Run() {
    for (const std::string& file : options_.files) {
      if (const std::string problem = ReadLines(file, lines_); !problem.empty()) {
        std::cerr << "golden: " << problem << "\n";
        return 1;
      }
    }
    if (options_.mode == Options::Mode::kOutcomes) {
      if (const std::string problem = outcomes_.Read(options_.folder); !problem.empty()) {
        std::cerr << "golden: " << problem << "\n";
        return 1;
      }
    }
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (options_.mode == Options::Mode::kSettle) return ReportSettled();
    if (options_.mode == Options::Mode::kOutcomes || options_.mode == Options::Mode::kRecord) {
      return ReportOutcomes();
    }
    Report();
    if (options_.mode == Options::Mode::kExplain) return ReportRules();
    return total_.c == total_.stories ? 0 : 1;
  }

 private:
  void Work() {
    while (true) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= lines_.size()) return;
      const Json story = Json::parse(lines_[next], nullptr, false);
      if (!story.is_object()) {
        Note(next, "unreadable", {}, "line " + std::to_string(next + 1) + " is not a story");
        continue;
      }
      if (!options_.story.empty() && story.value("id", "") != options_.story) continue;
      if (options_.mode == Options::Mode::kSettle) {
        NoteSettled(story, Settle(story, options_.own_rules));
        continue;
      }
      const ReplayResult result = Replay(story, options_.own_rules);
      if (options_.mode == Options::Mode::kOutcomes || options_.mode == Options::Mode::kRecord) {
        NoteOutcome(story, result);
        continue;
      }
      if (options_.mode == Options::Mode::kExplain && result.c) Explain(story, result);
      Note(next, story.value("family", "unknown"), result, result.error);
    }
  }

  void Note(std::size_t line, const std::string& family, const ReplayResult& result,
            const std::string& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Counts* counts : {&total_, &families_[family]}) {
      ++counts->stories;
      if (!error.empty()) continue;
      counts->a += result.a ? 0 : 1;
      counts->b += result.b ? 0 : 1;
      counts->c += result.c ? 0 : 1;
    }
    if (!error.empty() || result.c) failures_[line] = {result, error};
  }

  // The rules that cause the story's first difference.
  std::vector<std::string> CausesOf(const Json& story, const ReplayResult& result) const {
    const auto differs_there = [&](const admission::OwnRules& rules) {
      const ReplayResult other = Replay(story, rules);
      return other.c && other.c->step == result.c->step && other.c->item == result.c->item;
    };
    std::vector<std::string> causes;
    for (const std::string_view rule : admission::RuleNames()) {
      if (!options_.own_rules.Has(rule)) continue;
      admission::OwnRules alone = admission::OwnRules::None();
      alone.Set(rule, true);
      if (differs_there(alone)) causes.emplace_back(rule);
    }
    if (!causes.empty()) return causes;
    for (const std::string_view rule : admission::RuleNames()) {
      admission::OwnRules without = options_.own_rules;
      without.Set(rule, false);
      if (!differs_there(without)) causes.emplace_back(rule);
    }
    return causes;
  }

  void Explain(const Json& story, const ReplayResult& result) {
    const std::vector<std::string> causes = CausesOf(story, result);
    const Json& steps = story["outcome"]["steps"];
    const bool cut_off = std::any_of(steps.begin(), steps.end(),
                                     [](const Json& step) { return step["settled"] == "limit"; });
    const std::lock_guard<std::mutex> lock(mutex_);
    if (causes.empty()) unexplained_.insert(story.value("id", "?"));
    for (const std::string& rule : causes) {
      Due& due = due_[rule];
      ++due.stories;
      due.a += result.a ? 1 : 0;
      due.cut_off += cut_off ? 1 : 0;
      if (due.example.empty()) due.example = story.value("id", "?");
    }
  }

  int ReportRules() {
    for (const auto& [rule, due] : due_) {
      std::cout << rule << ": " << due.stories << " stories, " << due.a << " of them at A, "
                << due.cut_off << " of them cut off in Kueue, such as " << due.example << "\n";
    }
    for (const std::string& id : unexplained_) std::cout << "no rule explains " << id << "\n";
    std::cout << "golden: " << total_.stories - total_.c << " stories differ, "
              << unexplained_.size() << " of them by no rule\n";
    return unexplained_.empty() ? 0 : 1;
  }

  void NoteSettled(const Json& story, const SettleResult& result) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++total_.stories;
    victims_ += result.victims;
    if (!result.error.empty()) {
      unexplained_.insert(story.value("id", "?") + " (" + result.error + ")");
    } else if (result.cut_off > 0) {
      unexplained_.insert(story.value("id", "?"));
    }
  }

  // The row of a story in which Berth's decisions differ from Kueue's.
  Json RowOf(const Json& story, const ReplayResult& result, std::string& error) const {
    Json steps = Json::array();
    error = Settle(story, options_.own_rules, &steps).error;
    return {{"id", story.value("id", "?")}, {"rules", CausesOf(story, result)}, {"steps", steps}};
  }

  void NoteOutcome(const Json& story, const ReplayResult& result) {
    const std::string id = story.value("id", "?");
    std::string problem = result.error;
    Json row;
    if (problem.empty() && result.c) row = RowOf(story, result, problem);
    if (problem.empty() && result.c && row["rules"].empty()) problem = "no rule explains it";
    const std::lock_guard<std::mutex> lock(mutex_);
    ++total_.stories;
    const Json* known = outcomes_.Find(id);
    if (!problem.empty()) {
      unexplained_.insert(id + ": " + problem);
    } else if (options_.mode == Options::Mode::kRecord) {
      if (result.c) outcomes_.Set(story.value("family", "unknown"), std::move(row));
    } else if (result.c && known == nullptr) {
      unexplained_.insert(id + ": differs from Kueue in step " + std::to_string(result.c->step) +
                          ", item " + std::to_string(result.c->item) + ", and has no row");
    } else if (!result.c && known != nullptr) {
      unexplained_.insert(id + ": is decided as Kueue does, and has a row");
    } else if (result.c) {
      const std::string where = WhereRowsDiffer(*known, row);
      if (!where.empty()) unexplained_.insert(id + ": is not as its row says, " + where);
    }
  }

  int ReportOutcomes() {
    std::size_t shown = 0;
    for (const std::string& problem : unexplained_) {
      if (shown++ < options_.show) std::cout << problem << "\n";
    }
    std::string unwritten;
    if (options_.mode == Options::Mode::kRecord) unwritten = outcomes_.Write(options_.folder);
    if (!unwritten.empty()) std::cerr << "golden: " << unwritten << "\n";
    std::cout << "golden: " << total_.stories << " stories by Berth's own rules, "
              << outcomes_.size() << " rows, " << unexplained_.size() << " stories are wrong\n";
    return unexplained_.empty() && unwritten.empty() ? 0 : 1;
  }

  int ReportSettled() {
    std::size_t shown = 0;
    for (const std::string& id : unexplained_) {
      if (shown++ < options_.show) std::cout << "does not come to rest: " << id << "\n";
    }
    std::cout << "golden: " << total_.stories << " stories played on their own, "
              << total_.stories - unexplained_.size() << " come to rest, " << victims_
              << " workloads preempted\n";
    return unexplained_.empty() ? 0 : 1;
  }

  void Report() {
    std::size_t shown = 0;
    for (const auto& [line, failure] : failures_) {
      if (shown++ == options_.show) break;
      const Json story = Json::parse(lines_[line], nullptr, false);
      if (!failure.second.empty()) {
        const std::string id = story.is_object() ? story.value("id", "?") : "?";
        std::cout << id << ": " << failure.second << "\n";
        continue;
      }
      std::cout << story.value("id", "?") << ": ";
      const ReplayResult& result = failure.first;
      const Difference& d = result.a ? *result.a : result.b ? *result.b : *result.c;
      std::cout << "differs at "
                << (result.a   ? 'A'
                    : result.b ? 'B'
                               : 'C')
                << " in step " << d.step << ", item " << d.item << ": " << d.what << "\n  expected "
                << d.expected.dump() << "\n  actual   " << d.actual.dump() << "\n";
      if (options_.shrink || shown == 1)
        std::cout << "  shrunk   " << Shrink(story, options_.own_rules).dump() << "\n";
    }
    for (const auto& [family, counts] : families_) {
      std::cout << family << ": " << counts.stories << " stories, A " << counts.a << ", B "
                << counts.b << ", C " << counts.c << "\n";
    }
    std::cout << "golden: " << total_.stories << " stories, A " << total_.a << ", B " << total_.b
              << ", C " << total_.c << "\n";
  }

  Options options_;
  std::vector<std::string> lines_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  Counts total_;
  std::map<std::string, Counts> families_;
  std::map<std::size_t, std::pair<ReplayResult, std::string>> failures_;
  struct Due {
    std::size_t stories = 0;
    std::size_t a = 0;
    std::size_t cut_off = 0;
    std::string example;
  };
  std::map<std::string, Due> due_;     // by rule
  std::set<std::string> unexplained_;  // ids; with --settle and --outcomes the errors
  std::size_t victims_ = 0;
  OwnOutcomes outcomes_;
};

}  // namespace
}  // namespace berth::golden

int main(int argc, char** argv) {
  berth::golden::Options options;
  if (!berth::golden::Parse(argc, argv, options)) return berth::golden::Usage();
  return berth::golden::Runner(std::move(options)).Run();
}
