// The verbs of kueuectl on the command line of berth.
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/completion.h"
#include "cli/kueue_verbs.h"

namespace berth::cli {
namespace {

struct KindWord {
  const char* name;
  std::array<const char*, 5> aliases;  // names that kueuectl takes, and the short names of the kind
  const char* title;
  KueueKind kind;
  bool namespaced;
};
constexpr KindWord kKinds[] = {
    {"workload",
     {"wl", "kwl", "workloads", "kueueworkload", "kueueworkloads"},
     "Workload",
     KueueKind::kWorkload,
     true},
    {"localqueue",
     {"lq", "localqueues", "queue", "queues"},
     "LocalQueue",
     KueueKind::kLocalQueue,
     true},
    {"clusterqueue", {"cq", "clusterqueues"}, "ClusterQueue", KueueKind::kClusterQueue, false},
    {"resourceflavor",
     {"rf", "resourceflavors", "flavor", "flavors"},
     "ResourceFlavor",
     KueueKind::kResourceFlavor,
     false}};

const KindWord& WordOf(KueueKind kind) {
  for (const KindWord& word : kKinds) {
    if (word.kind == kind) return word;
  }
  return kKinds[0];
}

// What completes the name of an object of the kind.
const char* NameValueOf(KueueKind kind) {
  switch (kind) {
    case KueueKind::kWorkload: return kWorkloadValue;
    case KueueKind::kLocalQueue: return kLocalQueueValue;
    case KueueKind::kClusterQueue: return kClusterQueueValue;
    case KueueKind::kResourceFlavor: return "NAME";
  }
  return "NAME";
}

CLI::App* AddKind(CLI::App& verb, KueueKind kind, const std::string& help) {
  const KindWord& word = WordOf(kind);
  CLI::App* command = verb.add_subcommand(word.name, help);
  for (const char* alias : word.aliases) {
    if (alias != nullptr) command->alias(alias);
  }
  return command;
}

void AddOutput(CLI::App& command, ClientFlags& flags) {
  const std::map<std::string, view::OutputFormat> formats{{"name", view::OutputFormat::kText},
                                                          {"json", view::OutputFormat::kJson},
                                                          {"yaml", view::OutputFormat::kYaml}};
  command.add_option("-o,--output", flags.output, "json or yaml: the object; name: its name")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("name|json|yaml");
}

void AddClient(CLI::App& command, ClientFlags& flags, bool namespaced) {
  AddServerFlags(command, flags);
  if (!namespaced) return;
  command.add_option("-n,--namespace", flags.namespace_name, "namespace of the object")
      ->type_name(kNamespaceValue);
}

void AddDryRun(CLI::App& command, DryRun& dry_run) {
  const std::map<std::string, DryRun> words{
      {"none", DryRun::kNone}, {"client", DryRun::kClient}, {"server", DryRun::kServer}};
  command.add_option("--dry-run", dry_run, "client: only print; server: let the API check; none")
      ->transform(CLI::CheckedTransformer(words).description(""))
      ->type_name("none|client|server");
}

void AddName(CLI::App& command, std::string& name, const char* value) {
  command.add_option("NAME", name, "name of the object")->required()->type_name(value);
}

void AddList(CLI::App& command, const char* flag, std::vector<std::string>& out, const char* help,
             const char* form) {
  command.add_option(flag, out, help)->delimiter(',')->type_name(form);
}

void AddWord(CLI::App& command, const char* flag, std::string& out, const char* help,
             const std::vector<std::string>& words) {
  AcceptOnly(*command.add_option(flag, out, help)->capture_default_str(), words);
}

void AddCreateClusterQueue(CLI::App& verb, const std::shared_ptr<CreateFlags>& shared,
                           int& exit_code) {
  CreateFlags& flags = *shared;
  CLI::App* command = AddKind(verb, KueueKind::kClusterQueue, "A ClusterQueue with its quotas");
  view::NewClusterQueue& queue = flags.cluster_queue;
  AddClient(*command, flags.client, false);
  AddOutput(*command, flags.client);
  AddDryRun(*command, flags.dry_run);
  AddName(*command, queue.name, "NAME");
  command->add_option("--cohort", queue.cohort, "cohort of the queue")->type_name(kCohortValue);
  AddWord(*command, "--queuing-strategy", queue.queuing_strategy, "order of the workloads",
          {"StrictFIFO", "BestEffortFIFO"});
  AddList(*command, "--namespace-selector", queue.namespace_selector,
          "labels of the namespaces that may use the queue (default: all namespaces)",
          "LABEL=VALUE");
  AddWord(*command, "--reclaim-within-cohort", queue.reclaim_within_cohort,
          "which workloads of the cohort that borrow may be preempted",
          {"Never", "LowerPriority", "Any"});
  AddWord(*command, "--preemption-within-cluster-queue", queue.preemption_within_cluster_queue,
          "which workloads of the queue may be preempted",
          {"Never", "LowerPriority", "LowerOrNewerEqualPriority"});
  AddList(*command, "--nominal-quota", queue.nominal_quota, "quota of each flavor",
          kFlavorQuotaValue);
  AddList(*command, "--borrowing-limit", queue.borrowing_limit, "most that is borrowed",
          kFlavorQuotaValue);
  AddList(*command, "--lending-limit", queue.lending_limit, "most that is lent", kFlavorQuotaValue);
  command->footer(
      "Example:\n"
      "  berth create clusterqueue team --cohort all --nominal-quota 'spot:cpu=9;memory=36Gi'");
  command->callback([shared, &exit_code] { exit_code = RunCreateClusterQueue(*shared); });
}

void AddCreateOthers(CLI::App& verb, const std::shared_ptr<CreateFlags>& shared, int& exit_code) {
  CreateFlags& flags = *shared;
  CLI::App* local = AddKind(verb, KueueKind::kLocalQueue, "A LocalQueue of a namespace");
  AddClient(*local, flags.client, true);
  AddOutput(*local, flags.client);
  AddDryRun(*local, flags.dry_run);
  AddName(*local, flags.local_queue, "NAME");
  local
      ->add_option("-c,--clusterqueue", flags.local_queue_target,
                   "ClusterQueue that the LocalQueue points to")
      ->required()
      ->type_name(kClusterQueueValue);
  local->add_flag("-i,--ignore-unknown-cq", flags.ignore_unknown_target,
                  "create it although the ClusterQueue does not exist");
  local->callback([shared, &exit_code] { exit_code = RunCreateLocalQueue(*shared); });
  CLI::App* flavor = AddKind(verb, KueueKind::kResourceFlavor, "A ResourceFlavor");
  AddClient(*flavor, flags.client, false);
  AddOutput(*flavor, flags.client);
  AddDryRun(*flavor, flags.dry_run);
  AddName(*flavor, flags.flavor.name, "NAME");
  AddList(*flavor, "--node-labels", flags.flavor.node_labels, "labels of its nodes", "LABEL=VALUE");
  AddList(*flavor, "--node-taints", flags.flavor.node_taints, "taints of its nodes",
          "KEY=VALUE:EFFECT");
  AddList(*flavor, "--tolerations", flags.flavor.tolerations,
          "tolerations that pods of the flavor get", "KEY=VALUE:EFFECT");
  flavor->callback([shared, &exit_code] { exit_code = RunCreateResourceFlavor(*shared); });
}

void AddActivity(CLI::App& app, const std::shared_ptr<ActivityFlags>& shared, Activity activity,
                 int& exit_code) {
  ActivityFlags& flags = *shared;
  const bool stops = activity == Activity::kStop;
  CLI::App* verb = app.add_subcommand(stops ? "stop" : "resume",
                                      stops ? "Hold a Workload, a LocalQueue or a ClusterQueue"
                                            : "End the hold of a Workload or a queue");
  verb->require_subcommand(1);
  for (const KueueKind kind :
       {KueueKind::kWorkload, KueueKind::kLocalQueue, KueueKind::kClusterQueue}) {
    const KindWord& word = WordOf(kind);
    CLI::App* command =
        AddKind(*verb, kind, std::string(stops ? "Stop a " : "Resume a ") + word.title);
    AddClient(*command, flags.client, word.namespaced);
    AddOutput(*command, flags.client);
    AddDryRun(*command, flags.dry_run);
    AddName(*command, flags.name, NameValueOf(kind));
    if (stops && kind != KueueKind::kWorkload) {
      command->add_flag("--keep-already-running", flags.keep_already_running,
                        "admit no more workloads, and let admitted ones run");
    }
    command->callback([shared, &exit_code, kind, activity] {
      shared->kind = kind;
      exit_code = RunActivity(*shared, activity);
    });
  }
  verb->footer(stops ? "Example:\n  berth stop clusterqueue team --keep-already-running"
                     : "Example:\n  berth resume clusterqueue team");
}

// The flags of every list.
void AddListFlags(CLI::App& command, ListKindFlags& flags, bool namespaced) {
  AddClient(command, flags.client, namespaced);
  if (namespaced) {
    command.add_flag("-A,--all-namespaces", flags.client.all_namespaces, "of every namespace");
  }
  AddOutput(command, flags.client);
  command.add_option("-l,--selector", flags.selector, "label selector")->type_name("SELECTOR");
  command.add_option("--field-selector", flags.field_selector, "field selector")
      ->type_name("SELECTOR");
  command
      .add_option("--chunk-size", flags.client.page_size,
                  "number of objects that one request lists; 0: all")
      ->envname("KUEUECTL_LIST_REQUEST_LIMIT")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("NUMBER")
      ->capture_default_str();
}

void AddListPods(CLI::App& list, const std::shared_ptr<ListKindFlags>& shared, int& exit_code) {
  ListKindFlags& flags = *shared;
  CLI::App* command = list.add_subcommand("pods", "Pods of a job, in the columns of kubectl");
  command->alias("po");
  command->alias("pod");
  AddListFlags(*command, flags, true);
  command->add_option("--for", flags.owner, "of this job")->required()->type_name(kOwnerValue);
  command->footer("Example:\n  berth list pods --for pytorchjob/train");
  command->callback([shared, &exit_code] { exit_code = RunListPods(*shared); });
}

void AddListKind(CLI::App& list, const std::shared_ptr<ListKindFlags>& shared, KueueKind kind,
                 int& exit_code) {
  ListKindFlags& flags = *shared;
  const KindWord& word = WordOf(kind);
  CLI::App* command =
      AddKind(list, kind, std::string(word.title) + "s, in the columns of kueuectl");
  AddListFlags(*command, flags, word.namespaced);
  if (kind == KueueKind::kWorkload || kind == KueueKind::kLocalQueue) {
    command->add_option("-c,--clusterqueue", flags.cluster_queue, "of this ClusterQueue")
        ->type_name(kClusterQueueValue);
  }
  if (kind == KueueKind::kWorkload) {
    command->add_option("-q,--localqueue", flags.local_queue, "of this LocalQueue")
        ->type_name(kLocalQueueValue);
    command
        ->add_option("--status", flags.statuses, "only workloads of this status; may be repeated")
        ->delimiter(',')
        ->check(CLI::IsMember({"all", "pending", "admitted", "finished", "quotareserved"})
                    .description(""))
        ->type_name("all|pending|admitted|finished");
    command->add_option("--for", flags.owner, "of this job")->type_name(kOwnerValue);
  }
  if (kind == KueueKind::kClusterQueue) {
    command
        ->add_option("--active", flags.active,
                     "only active ClusterQueues (true), or only inactive ones (false)")
        ->delimiter(',')
        ->check(CLI::IsMember({"true", "false"}).description(""))
        ->type_name("true|false");
  }
  command->callback([shared, &exit_code, kind] {
    shared->kind = kind;
    exit_code = RunListKind(*shared);
  });
}

}  // namespace

// The kinds become commands below `list`, which is there already.
void AddKueueVerbs(CLI::App& app, int& exit_code) {
  const auto new_object = std::make_shared<CreateFlags>();
  CLI::App* create =
      app.add_subcommand("create", "Make a ClusterQueue, a LocalQueue or a ResourceFlavor");
  create->require_subcommand(1);
  AddCreateClusterQueue(*create, new_object, exit_code);
  AddCreateOthers(*create, new_object, exit_code);
  const auto activity = std::make_shared<ActivityFlags>();
  AddActivity(app, activity, Activity::kStop, exit_code);
  AddActivity(app, activity, Activity::kResume, exit_code);
  const auto listed = std::make_shared<ListKindFlags>();
  CLI::App& list = *app.get_subcommand("list");
  list.require_subcommand(0, 1);
  for (const KindWord& word : kKinds) AddListKind(list, listed, word.kind, exit_code);
  AddListPods(list, listed, exit_code);
}

}  // namespace berth::cli
