#include "tests/faults/shared_edits.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/strings.h"

namespace berth::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShared{
    {{"flavor", "resourceflavor"},
     {"check", "admissioncheck"},
     {"topology", "topology"},
     {"cohort", "cohort"}}};

Duration Span(Random& random, std::uint64_t limit_ms) {
  return milliseconds(random.Below(limit_ms));
}

// The line without `flavor`; empty if nothing would remain.
std::string Without(const std::string& line, std::string_view flavor) {
  std::string text;
  bool has_others = false;
  for (const std::string_view word : Split(line, ' ')) {
    const std::size_t slash = word.find('/');
    const bool is_quota = slash != std::string_view::npos && slash > 0;
    if (is_quota && word.substr(0, slash) == flavor) continue;
    has_others = has_others || is_quota;
    text += (text.empty() ? "" : " ") + std::string(word);
  }
  return has_others && text != line ? text : "";
}

}  // namespace

bool IsShared(const std::string& line) {
  return std::any_of(kShared.begin(), kShared.end(), [&line](const auto& kind) {
    return line.substr(0, line.find(' ')) == kind.first;
  });
}

void EditShared(Story& story, Random& random) {
  std::vector<std::string> lines;
  std::copy_if(story.setup.begin(), story.setup.end(), std::back_inserter(lines), IsShared);
  if (lines.empty()) return;
  const std::string line = lines[random.Below(lines.size())];
  const std::vector<std::string_view> words = Split(line, ' ');
  const std::string name(words[1]);
  const auto length =
      static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(story.length).count());
  const Duration at = Span(random, length);
  const Duration back = at + milliseconds(500) + Span(random, 40'000);
  if (words[0] == "cohort" && random.Below(2) == 0) {
    const std::string other(Split(lines[random.Below(lines.size())], ' ')[1]);
    story.events.push_back({at, "cohort " + name + " parent=" + other});
    story.events.push_back({back, line});
    return;
  }
  if (words[0] == "flavor" && random.Below(3) != 0) {
    // Its queues drop it first, if they have other flavors.
    for (const std::string& made : story.setup) {
      if (made.rfind("cluster-queue ", 0) != 0) continue;
      const std::string without = Without(made, name);
      if (without.empty()) continue;
      story.events.push_back({at, without});
      story.events.push_back({back + Span(random, 5'000), made});
    }
  }
  const auto kind = std::find_if(kShared.begin(), kShared.end(),
                                 [&words](const auto& known) { return known.first == words[0]; });
  story.events.push_back({at + milliseconds(random.Below(2) * 700),
                          "delete " + std::string(kind->second) + " " + name});
  story.events.push_back({back, line});
}

void EditDefaults(Story& story, Random& random) {
  const auto length =
      static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(story.length).count());
  const Duration at = Span(random, length);
  const Duration later = at + Span(random, 10'000);
  const Duration back = later + milliseconds(500) + Span(random, 20'000);
  const std::uint64_t what = random.Below(3);
  if (what == 0) {
    story.setup.emplace_back("priority-class urgent 500");
    for (StoryEvent& event : story.events) {
      const bool is_job = event.line.rfind("job ", 0) == 0;
      if (is_job && random.Below(2) == 0) event.line += " priority-class=urgent";
    }
    for (const auto& [when, value] : {std::pair{at, "5"}, {later, "5000"}, {back, "500"}}) {
      story.events.push_back({when, "priority-class urgent " + std::string(value)});
    }
    return;
  }
  const auto range = [](const std::string& limits) {
    return "apply <<EOF\napiVersion: v1\nkind: LimitRange\n"
           "metadata: {name: defaults, namespace: default}\n"
           "spec: {limits: [{type: Container, " +
           limits + "}]}\nEOF";
  };
  // Every node has memory, and no queue has a quota of it.
  const std::string missing = "defaultRequest: {memory: 1Mi}";
  const std::string forbidding = "max: {cpu: 2}";
  story.events.push_back({at, range(what == 1 ? missing : forbidding)});
  story.events.push_back({later, range(what == 1 ? forbidding : missing)});
  story.events.push_back({back, "delete limitrange defaults"});
}

}  // namespace berth::sim
