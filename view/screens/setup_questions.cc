#include "view/screens/setup_questions.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "base/terminal_text.h"

namespace berth::view {
namespace {

struct Question {
  std::string text;
  std::string preset;  // the answer of an empty line
  std::function<Status(const std::string& answer, SetupOptions& options)> take;
};

Error Refused(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

// Takes the answer, and plans with it.
Status Try(const Question& question, const std::string& answer, SetupOptions& options) {
  if (answer.size() > kMostOfAnswer) {
    return Refused("the answer is too long: write at most " + std::to_string(kMostOfAnswer) +
                   " characters");
  }
  SetupOptions tried = options;
  BERTH_CHECK_OK(question.take(answer, tried));
  BERTH_TRY([[maybe_unused]] const FirstSetup planned, PlanSetup(tried));
  options = std::move(tried);
  return OkStatus();
}

Status Ask(const Question& question, std::istream& in, std::ostream& out, SetupOptions& options) {
  std::string last;
  for (int asked = 0; asked < kMostAnswers; ++asked) {
    out << question.text << " [" << question.preset << "]: " << std::flush;
    std::string line;
    if (!std::getline(in, line)) {
      out << "\n";
      return Refused("the input ends at the question \"" + question.text +
                     "\": answer it, or use flags (berth init --help)");
    }
    const std::string answer(TrimSpace(line));
    const Status taken = Try(question, answer.empty() ? question.preset : answer, options);
    if (taken) return OkStatus();
    last = taken.error().message;
    out << "  " << TerminalLine(last) << "\n";
  }
  return Refused("\"" + question.text + "\" has no valid answer after " +
                 std::to_string(kMostAnswers) + " attempts; the last one: " + last +
                 ". Use flags in place of answers: berth init --help");
}

Status TakeTeams(const std::string& answer, SetupOptions& options) {
  for (const std::string_view word : Split(answer, ' ')) {
    if (word.empty()) continue;
    BERTH_TRY(SetupTeam team, ParseSetupTeam(std::string(word)));
    options.teams.push_back(std::move(team));
  }
  return OkStatus();
}

bool AllName(const SetupOptions& options, const std::string& resource) {
  return std::all_of(options.teams.begin(), options.teams.end(),
                     [&resource](const auto& team) { return team.quota.count(resource) > 0; });
}

// What the teams have in the plan, with the defaults for those that name no quota.
Result<std::string> SumOf(const SetupOptions& options, const std::string& resource) {
  BERTH_TRY(const FirstSetup setup, PlanSetup(options));
  api::Amount sum = 0;
  for (const SetupTeam& team : setup.teams) {
    sum = api::AddAmounts(sum, team.quota.at(resource));
  }
  return AmountText(resource, sum);
}

Status AskMachines(std::istream& in, std::ostream& out, SetupOptions& options) {
  if (!AllName(options, "cpu")) {
    BERTH_TRY(std::string preset, SumOf(options, "cpu"));
    const auto take = [](const std::string& answer, SetupOptions& taken) -> Status {
      BERTH_TRY(taken.cpu, ParseSetupAmount("cpu", answer));
      return OkStatus();
    };
    BERTH_CHECK_OK(Ask({"CPUs of all teams together", std::move(preset), take}, in, out, options));
  }
  if (AllName(options, "gpu")) return OkStatus();
  BERTH_TRY(std::string preset, SumOf(options, "gpu"));
  const auto take = [](const std::string& answer, SetupOptions& taken) -> Status {
    BERTH_TRY(taken.gpus, ParseSetupGpus(answer));
    return OkStatus();
  };
  return Ask({"GPUs of all teams together (16, or amd.com/gpu=16)", std::move(preset), take}, in,
             out, options);
}

Status TakeBorrow(const std::string& answer, SetupOptions& options) {
  const std::string word = ToLower(answer);
  const bool is_yes = word == "y" || word == "yes";
  if (!is_yes && word != "n" && word != "no") {
    return Refused("\"" + answer + "\" is no answer: write yes or no");
  }
  options.borrow = is_yes;
  return OkStatus();
}

Status TakeCapacity(const std::string& answer, SetupOptions& options) {
  BERTH_TRY(options.capacity, ParseSetupCapacity(ToLower(answer)));
  return OkStatus();
}

}  // namespace

Result<SetupOptions> AskSetup(std::istream& in, std::ostream& out) {
  SetupOptions options;
  out << "An empty line takes the answer in brackets.\n";
  BERTH_CHECK_OK(
      Ask({"Teams, each a name or red=cpu=8,memory=32Gi,gpu=2", "team-a team-b", &TakeTeams}, in,
          out, options));
  BERTH_CHECK_OK(AskMachines(in, out, options));
  if (options.teams.size() > 1) {
    BERTH_CHECK_OK(Ask({"Teams lend each other the quota that they do not use", "yes", &TakeBorrow},
                       in, out, options));
  }
  out << "Where the machines of the jobs come from:\n"
         "  fixed      the nodes of the cluster\n"
         "  dws        GKE's Dynamic Workload Scheduler brings all machines of a job at once\n"
         "  spot       spot machines first, then machines on demand\n"
         "  karpenter  Karpenter brings nodes for pending pods\n";
  BERTH_CHECK_OK(Ask({"Capacity", "fixed", &TakeCapacity}, in, out, options));
  return options;
}

}  // namespace berth::view
