// golden FILE... [--jobs N] [--show N] [--shrink] [--story ID] [--own-rules[=NAME,NAME]]
// [--explain | --settle]: replays recorded stories. Kueue's way counts everywhere, unless
// --own-rules asks for Berth's: all of its rules, or those named (docs/differences.md).
//
// Files are *.jsonl or *.jsonl.gz, one story a line. Prints counts per family, the first story that
// differs (--show: the first N, at the strength where they differ first) with a shrunk version of
// it (--shrink: of all that are shown), and ends with "golden: N stories, A n, B n, C n": how many
// agree at each strength. Exit status 1 if any story differs at C or cannot be read, or a file ends
// in the middle of one; 2 for a bad command line.
//
// --explain: of each story that differs with the own rules, which rule the first difference is due
// to: the rule alone differs there too, or all others without it do not. Status 1 if there is a
// story that no rule explains.
// --settle: plays each story on its own (tests/golden/settle.h) and counts those that come to rest,
// and how many workloads were told to stop. Status 1 if one does not.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <zlib.h>

#include "tests/golden/own_rules.h"
#include "tests/golden/replay.h"
#include "tests/golden/settle.h"

namespace berth::golden {
namespace {

struct Options {
  std::vector<std::string> files;
  unsigned jobs = 1;
  std::size_t show = 1;
  bool shrink = false;
  enum class Mode { kCompare, kExplain, kSettle } mode = Mode::kCompare;
  admission::OwnRules own_rules = NoOwnRules();
  std::string story;
};

struct Counts {
  std::size_t stories = 0;
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t c = 0;
};

// Empty: read to its end; else what went wrong.
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

int Usage() {
  std::cerr
      << "usage: golden [--jobs N] [--show N] [--shrink] [--story ID] [--own-rules[=NAME,NAME]]\n"
         "              [--explain | --settle] FILE...\nrules:";
  for (const NamedRule& rule : kOwnRules) std::cerr << " " << rule.name;
  std::cerr << "\n";
  return 2;
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
      const auto rules = OwnRulesOf(argument.substr(argument.find('=') + 1));
      if (!rules) return false;
      options.own_rules = *rules;
    } else if (argument == "--explain") {
      options.mode = Options::Mode::kExplain;
    } else if (argument == "--settle") {
      options.mode = Options::Mode::kSettle;
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
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (options_.mode == Options::Mode::kSettle) return ReportSettled();
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

  // Which rules the story's first difference is due to.
  std::vector<std::size_t> CausesOf(const Json& story, const ReplayResult& result) const {
    const auto differs_there = [&](const admission::OwnRules& rules) {
      const ReplayResult other = Replay(story, rules);
      return other.c && other.c->step == result.c->step && other.c->item == result.c->item;
    };
    std::vector<std::size_t> causes;
    for (std::size_t i = 0; i < std::size(kOwnRules); ++i) {
      if (!(options_.own_rules.*kOwnRules[i].enabled)) continue;
      admission::OwnRules alone = NoOwnRules();
      alone.*kOwnRules[i].enabled = true;
      if (differs_there(alone)) causes.push_back(i);
    }
    for (std::size_t i = 0; causes.empty() && i < std::size(kOwnRules); ++i) {
      admission::OwnRules without = options_.own_rules;
      without.*kOwnRules[i].enabled = false;
      if (!differs_there(without)) causes.push_back(i);
    }
    return causes;
  }

  void Explain(const Json& story, const ReplayResult& result) {
    const std::vector<std::size_t> causes = CausesOf(story, result);
    const Json& steps = story["outcome"]["steps"];
    const bool cut_off = std::any_of(steps.begin(), steps.end(),
                                     [](const Json& step) { return step["settled"] == "limit"; });
    const std::lock_guard<std::mutex> lock(mutex_);
    if (causes.empty()) unexplained_.insert(story.value("id", "?"));
    for (const std::size_t i : causes) {
      Due& due = due_[i];
      ++due.stories;
      due.a += result.a ? 1 : 0;
      due.cut_off += cut_off ? 1 : 0;
      if (due.example.empty()) due.example = story.value("id", "?");
    }
  }

  int ReportRules() {
    for (const auto& [rule, due] : due_) {
      std::cout << kOwnRules[rule].name << ": " << due.stories << " stories, " << due.a
                << " of them at A, " << due.cut_off << " of them cut off in Kueue, such as "
                << due.example << "\n";
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
  std::map<std::size_t, Due> due_;     // by rule
  std::set<std::string> unexplained_;  // ids; with --settle those that do not come to rest
  std::size_t victims_ = 0;
};

}  // namespace
}  // namespace berth::golden

int main(int argc, char** argv) {
  berth::golden::Options options;
  if (!berth::golden::Parse(argc, argv, options)) return berth::golden::Usage();
  return berth::golden::Runner(std::move(options)).Run();
}
