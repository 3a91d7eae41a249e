#include "cli/up_screen.h"

#include <utility>
#include <vector>

namespace berth::cli {
namespace {

// A command, and what it is for.
using Step = std::pair<std::string, std::string>;

Step QueuesStep(const UpScreen& screen) {
  if (screen.has_samples) {
    return {"kubectl apply -f JOB", "a Job with the label kueue.x-k8s.io/queue-name: team"};
  }
  return {"berth init", "manifests of queues for your teams; then kubectl apply -f queues"};
}

Step StatusStep(const UpScreen& screen) {
  if (screen.has_samples) {
    return {"berth status", "two sample jobs; berth why job/large says why one of them waits"};
  }
  return {"berth status", "the queues on one screen"};
}

Step PageStep(const UpScreen& screen) {
  if (!screen.has_controllers) {
    return {"berth controller", "in another terminal: the controllers of the queues"};
  }
  if (screen.sign_in.empty()) return {"berth up --open", "the next time: the page in your browser"};
  return {"dashboard: " + screen.sign_in, "signs in once, within five minutes"};
}

std::vector<Step> StepsOf(const UpScreen& screen) {
  std::vector<Step> steps{{"export KUBECONFIG=" + screen.kubeconfig, ""}};
  if (screen.api_only) {
    steps.emplace_back("kubectl api-resources", "the kinds that this API serves");
  } else {
    steps.push_back(QueuesStep(screen));
    steps.push_back(StatusStep(screen));
    steps.push_back(PageStep(screen));
  }
  steps.emplace_back("kill " + std::to_string(screen.process),
                     "or Ctrl-C: stops the cluster, and keeps its objects");
  return steps;
}

}  // namespace

std::string UpScreenText(const UpScreen& screen) {
  constexpr std::size_t kCommandColumns = 24;
  std::string text = "berth is up at " + screen.api_url + "\n\n";
  for (const auto& [command, purpose] : StepsOf(screen)) {
    text += "  " + command;
    if (!purpose.empty()) {
      text += std::string(command.size() < kCommandColumns ? kCommandColumns - command.size() : 2,
                          ' ') +
              "# " + purpose;
    }
    text += "\n";
  }
  if (!screen.read_api_url.empty()) text += "\nread API: " + screen.read_api_url + "/api/v1\n";
  return text + "\n";
}

}  // namespace berth::cli
