// berth __complete: completes words, with the names of the cluster's objects.
#include <set>

#include <nlohmann/json.hpp>

#include "cli/client_flags.h"
#include "cli/commands.h"
#include "view/output.h"
#include "view/session.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

// A user waits at the prompt: no answer is better than a late one.
constexpr std::chrono::seconds kPatience{2};
constexpr std::size_t kMostNames = 1000;

ClientFlags FlagsOf(const Completion& completion) {
  ClientFlags flags;
  flags.timeout = kPatience;
  for (const auto& [name, value] : completion.given) {
    if (name == "--kubeconfig") flags.kubeconfig = value;
    if (name == "--context") flags.context = value;
    if (name == "--namespace") flags.namespace_name = value;
  }
  return flags;
}

// The API paths that list names of this kind, each with the prefix of its names.
std::vector<std::pair<std::string, std::string>> ListsOf(const std::string& kind,
                                                         const std::string& namespace_name) {
  const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2/";
  const std::string in_namespace = "namespaces/" + namespace_name + "/";
  if (kind == kNamespaceValue) return {{"/api/v1/namespaces", ""}};
  if (kind == kQueueValue) {
    return {{kueue + "clusterqueues", ""},
            {kueue + in_namespace + "localqueues", ""},
            {kueue + "cohorts", ""}};
  }
  if (kind == kClusterQueueValue) return {{kueue + "clusterqueues", ""}};
  if (kind == kLocalQueueValue) return {{kueue + in_namespace + "localqueues", ""}};
  if (kind == kCohortValue) return {{kueue + "cohorts", ""}};
  if (kind == kWorkloadValue) return {{kueue + in_namespace + "workloads", ""}};
  if (kind == kFlavorQuotaValue) return {{kueue + "resourceflavors", ""}};
  return {{"/apis/batch/v1/" + in_namespace + "jobs", "job/"}};
}

// `with_before`: names without `before` are not valid.
void AddNames(const std::string& before, const Json& list, const std::string& prefix,
              bool with_before, std::set<std::string>& names) {
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return;
  for (const Json& item : *items) {
    if (!item.is_object() || names.size() == kMostNames) return;
    const auto metadata = item.find("metadata");
    if (metadata == item.end() || !metadata->is_object()) continue;
    const auto name = metadata->find("name");
    if (name == metadata->end() || !name->is_string()) continue;
    const auto& text = name->get_ref<const std::string&>();
    if ((before + text).starts_with(prefix)) {
      names.insert(before + text);
    } else if (!with_before && text.starts_with(prefix)) {
      names.insert(text);
    }
  }
}

}  // namespace

int RunComplete(const Command& program, const std::vector<std::string>& words) {
  Completion completion = Complete(program, words);
  if (!completion.names_of.empty()) {
    const ClientFlags flags = FlagsOf(completion);
    const auto session = view::Session::Open(flags);
    if (session) {
      const std::string namespace_name =
          flags.namespace_name.empty() ? (*session)->default_namespace() : flags.namespace_name;
      const auto lists = ListsOf(completion.names_of, namespace_name);
      std::vector<std::string> paths;
      for (const auto& [path, before] : lists) paths.push_back(path);
      const auto answers = (*session)->GetAll(paths);
      std::set<std::string> names;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        if (!answers[i]) continue;
        const bool with_before = completion.names_of == kOwnerValue;
        AddNames(lists[i].second, *answers[i], completion.prefix, with_before, names);
      }
      for (const std::string& name : names) {
        completion.suggestions.push_back({completion.word_start + name, ""});
      }
    }
  }
  view::Print(CompletionAnswer(completion));
  return view::kExitAnswered;
}

}  // namespace berth::cli
