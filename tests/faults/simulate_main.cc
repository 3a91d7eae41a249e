// simulate_faults [--first N] [--seeds M] [--jobs K] [--verbose] [--shrink] [--twice] [--log]
// [--recorded]: plays the stories of seeds N … N+M-1, each in a world of its own.
//
// Prints one line for each seed that fails, with its command line, how many stories each kind of
// job was in, how often each kind of fault happened (in 500 stories each must), and ends with one
// line "simulate-faults: M seeds, F failed, …". --verbose prints the story and all events; --shrink
// removes needless lines from a failing story; --twice plays every seed twice and compares
// the traces; --log shows the controllers' log; --recorded draws the traits of policies by the
// range of the seed, as those of soak_seeds.txt were found. Exit status 1 if a seed fails, 2 for a
// bad command line.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log/log.h"
#include "base/strings.h"
#include "scenarios/script.h"
#include "tests/faults/dask_play.h"
#include "tests/faults/elastic_edits.h"
#include "tests/faults/episode.h"
#include "tests/faults/jobset_play.h"
#include "tests/faults/pod_play.h"
#include "tests/faults/policy_edits.h"
#include "tests/faults/saboteur.h"
#include "tests/faults/shrink.h"

namespace berth::sim {
namespace {

constexpr int kShrinkRuns = 400;

struct Options {
  std::int64_t first = 1;
  std::int64_t seeds = 100;
  std::int64_t jobs = 1;
  bool verbose = false;
  bool shrink = false;
  bool twice = false;
  bool log = false;
  bool recorded = false;
};

struct Totals {
  std::int64_t seeds = 0;
  std::int64_t writes = 0;
  std::int64_t jobs = 0;
  std::map<std::string, std::int64_t> failed;   // by rule
  std::map<std::string, std::int64_t> faults;   // by kind
  std::map<std::string, std::int64_t> stories;  // by kind of job
};

bool ReadOptions(const std::vector<std::string>& words, Options& options) {
  const std::map<std::string, std::int64_t*> numbers{
      {"--first", &options.first}, {"--seeds", &options.seeds}, {"--jobs", &options.jobs}};
  const std::map<std::string, bool*> flags{{"--verbose", &options.verbose},
                                           {"--shrink", &options.shrink},
                                           {"--twice", &options.twice},
                                           {"--log", &options.log},
                                           {"--recorded", &options.recorded}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto flag = flags.find(words[i]); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    const auto number = numbers.find(words[i]);
    const auto value =
        i + 1 < words.size() ? ParseInt64(words[i + 1]) : std::optional<std::int64_t>();
    if (number == numbers.end() || !value || *value < 0) return false;
    *number->second = *value;
    ++i;
  }
  return options.jobs > 0;
}

std::string Describe(const Outcome& outcome) {
  return "after " + scenarios::FormatSpan(outcome.at) + ": " + outcome.violation->rule + ": " +
         outcome.violation->text;
}

// One string, so that threads do not interleave their reports.
std::string Report(const Story& story, const Outcome& outcome, const Options& options) {
  const std::string seed = std::to_string(story.seed);
  std::string text = "seed " + seed + " fails " + Describe(outcome) +
                     "; again: tools/simulate-faults --first " + seed + " --seeds 1 --verbose" +
                     (options.recorded ? " --recorded\n" : "\n");
  Story shown = story;
  if (options.shrink) {
    shown = Shrink(
        story,
        [&](const Story& candidate) {
          const Outcome again = Play(candidate, {});
          return again.violation && again.violation->rule == outcome.violation->rule;
        },
        kShrinkRuns);
  }
  if (!options.shrink && !options.verbose) return text;
  text += Tell(shown);
  if (!options.verbose) return text;
  const Outcome told = Play(shown, {.chronicle = true});
  for (const std::string& line : told.chronicle) text += "  " + line + "\n";
  if (told.violation) text += "seed " + seed + " fails " + Describe(told) + "\n";
  return text;
}

// Counts the story at its kinds of jobs, and with the faults that elastic Jobs met.
void CountKinds(const Story& story, const Outcome& outcome, Totals& totals) {
  const auto count = [&totals](const char* what, bool is_there) {
    totals.stories[what] += is_there ? 1 : 0;
  };
  const auto met = [&outcome](const std::vector<const char*>& faults) {
    return std::any_of(faults.begin(), faults.end(), [&outcome](const char* fault) {
      const auto found = outcome.faults.find(fault);
      return found != outcome.faults.end() && found->second > 0;
    });
  };
  count("pods", HasFramework(story, kPodFramework));
  count("JobSets", HasFramework(story, kJobSetFramework));
  count("Dask clusters", HasFramework(story, kDaskFramework));
  count("policies", HasPolicy(story));
  const PolicyTraits traits = TraitsOf(story);
  count("policies that race", traits.races);
  count("policies that reuse nodes", traits.reuses);
  count("policies with a budget", traits.budgets);
  if (MayDrawMoreTraits(story)) {
    count("policies that divide jobs", traits.divides);
    count("policies with requests for two pools", traits.splits);
    count("policies with standing nodes", traits.prewarms);
    count("policies with placeholders", traits.gangs);
  }
  if (MayDrawEndTraits(story)) {
    count("policies that hold jobs", traits.holds);
    count("policies that reject for human causes", traits.rejects);
    count("policies with a boot timeout", traits.boots);
    count("policies that leave before the end", traits.leaves);
  }
  if (MayDrawWaitTraits(story)) {
    count("policies that keep surplus nodes", traits.keeps);
    count("policies whose standing nodes go when idle", traits.naps);
    count("policies that pass slow steps over", traits.weighs);
  }
  if (MayDrawEvictTraits(story)) {
    count("policies for pending pods alone", traits.reacts);
    count("policies for pending pods with a budget", traits.pays);
    count("pools whose machines are taken back", traits.evict_after > 0);
  }
  const bool elastic = HasElastic(story);
  count("elastic Jobs", elastic);
  count("elastic Jobs with crashes", elastic && met({"crash, write lost", "crash, write done"}));
  count("elastic Jobs with lost answers", elastic && met({"lost-answer", "timeout-after"}));
  count("elastic Jobs with broken watches",
        elastic && met({"watches broken", "watches expired", "watches stalled"}));
}

void PlayOne(std::int64_t seed, const Options& options, Totals& totals, std::mutex& mutex) {
  const Story story = MakeStory(static_cast<std::uint64_t>(seed),
                                options.recorded ? Drawing::kAsRecorded : Drawing::kEveryTrait);
  Outcome outcome = Play(story, {});
  if (options.twice && !outcome.violation) {
    const Outcome again = Play(story, {});
    if (again.trace_hash != outcome.trace_hash) {
      outcome.violation = Violation{"not-the-same", "told twice, it went another way"};
    }
  }
  std::string text;
  if (outcome.violation) {
    text = Report(story, outcome, options);
  } else if (options.verbose) {
    text = Tell(story);
    for (const std::string& line : Play(story, {.chronicle = true}).chronicle) {
      text += "  " + line + "\n";
    }
  }
  const std::lock_guard lock(mutex);
  ++totals.seeds;
  totals.writes += outcome.writes;
  totals.jobs += outcome.jobs_finished;
  for (const auto& [kind, count] : outcome.faults) totals.faults[kind] += count;
  if (outcome.violation) ++totals.failed[outcome.violation->rule];
  CountKinds(story, outcome, totals);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Prints in how many stories each kind of job was, and how often each kind of fault happened.
// False: one never did, in enough stories.
bool PrintCounts(const Totals& totals) {
  constexpr std::int64_t kEnough = 500;
  std::string missing;
  const auto print = [&missing](const char* title, const auto& counts) {
    std::string text = title;
    for (const auto& [kind, count] : counts) {
      text += (text.back() == ':' ? " " : ", ") + kind + " " + std::to_string(count);
      if (count == 0) missing += (missing.empty() ? "" : ", ") + kind;
    }
    std::printf("%s\n", text.c_str());
  };
  print("stories with:", totals.stories);
  std::vector<std::pair<std::string, std::int64_t>> faults;
  for (const std::string& kind : FaultKinds()) {
    const auto found = totals.faults.find(kind);
    faults.emplace_back(kind, found == totals.faults.end() ? 0 : found->second);
  }
  print("faults:", faults);
  if (missing.empty() || totals.seeds < kEnough) return true;
  std::printf("never happened: %s\n", missing.c_str());
  return false;
}

int Run(const Options& options) {
  Totals totals;
  std::mutex mutex;
  std::atomic<std::int64_t> next{options.first};
  const auto work = [&] {
    for (std::int64_t seed = next++; seed < options.first + options.seeds; seed = next++) {
      PlayOne(seed, options, totals, mutex);
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t i = 1; i < options.jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::int64_t failed = 0;
  std::string rules;
  for (const auto& [rule, count] : totals.failed) {
    failed += count;
    rules += (rules.empty() ? " (" : ", ") + rule + " " + std::to_string(count);
  }
  const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  const bool all_happened = PrintCounts(totals);
  std::printf(
      "simulate-faults: %lld seeds, %lld failed%s%s, %lld jobs, %lld writes, %.0f ms of "
      "CPU a seed\n",
      static_cast<long long>(totals.seeds), static_cast<long long>(failed), rules.c_str(),
      rules.empty() ? "" : ")", static_cast<long long>(totals.jobs),
      static_cast<long long>(totals.writes),
      totals.seeds == 0 ? 0.0 : cpu * 1000 / static_cast<double>(totals.seeds));
  return failed == 0 && all_happened ? 0 : 1;
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::sim::Options options;
  if (!berth::sim::ReadOptions({argv + 1, argv + argc}, options)) {
    std::fputs(
        "usage: simulate-faults [--first N] [--seeds M] [--jobs K] [--verbose] [--shrink] "
        "[--twice] [--log] [--recorded]\n",
        stderr);
    return 2;
  }
  // Faults are intended; their log lines would hide the results.
  berth::ConfigureLog(options.log ? berth::LogLevel::kDebug : berth::LogLevel::kError);
  return berth::sim::Run(options);
}
