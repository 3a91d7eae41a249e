// cli/main.cc — the command line of berth; this file and the parsers use CLI11.

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_order.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/forecast.h"
#include "cli/kueue_parser.h"
#include "cli/ledger_parser.h"
#include "cli/listen_parser.h"
#include "cli/test_parser.h"
#include "program/controller_selection.h"
#include "program/version.h"
#include "scenarios/command.h"
#include "view/output.h"

namespace berth::cli {
namespace {

// Accepts only `words`, which help and completion show as the option's value.
void Choices(CLI::Option& option, const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : "|") + word;
  option.check(CLI::IsMember(words).description(""))->type_name(joined);
}

void AddServerFlags(CLI::App& command, ClientFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig, "path of the kubeconfig file")
      ->type_name(kFileValue);
  command.add_option("--context", flags.context, "context of the kubeconfig file")
      ->type_name("NAME");
}

void AddClientFlags(CLI::App& command, ClientFlags& flags) {
  AddServerFlags(command, flags);
  command.add_option("-n,--namespace", flags.namespace_name, "namespace to look in")
      ->type_name(kNamespaceValue);
  command.add_flag("-A,--all-namespaces", flags.all_namespaces,
                   "look in every namespace; takes precedence over -n");
  command.add_flag("--ascii", flags.ascii, "draw with ASCII characters only");
}

void AddOutputFlag(CLI::App& command, ClientFlags& flags) {
  const std::map<std::string, view::OutputFormat> formats{{"text", view::OutputFormat::kText},
                                                          {"json", view::OutputFormat::kJson},
                                                          {"yaml", view::OutputFormat::kYaml}};
  command.add_option("-o,--output", flags.output, "text, json or yaml")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("text|json|yaml");
}

void AddStatus(CLI::App& app, ClientFlags& client, StatusFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "status", "Queues, who waits and why, capacity requests, pools: all on one screen");
  AddClientFlags(*command, client);
  AddOutputFlag(*command, client);
  command->add_option("QUEUE", flags.options.only, "only this ClusterQueue, LocalQueue or cohort")
      ->type_name(kQueueValue);
  command->add_flag("--cost", flags.options.cost, "what runs in each queue, in USD");
  command->add_flag("-w,--watch", flags.watch, "redraw in place until interrupted");
  command->footer(
      "Examples:\n"
      "  berth status                 everything\n"
      "  berth status team-a -w       one queue, live\n"
      "  berth status -o json | jq '.waiting[].reason'");
  command->callback([&] { exit_code = RunStatus(client, flags); });
}

void AddCapacity(CLI::App& app, ClientFlags& client, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "capacity", "Requests for capacity, node pools, and what is known of the stock");
  AddClientFlags(*command, client);
  AddOutputFlag(*command, client);
  command->footer(
      "Examples:\n"
      "  berth capacity\n"
      "  berth capacity -o json | jq '.stock[] | select(.restsUntil)'");
  command->callback([&] { exit_code = RunCapacity(client); });
}

void AddPlan(CLI::App& app, ClientFlags& client, PlanFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "plan", "What a job would meet before it is created: queue, steps, waits, prices");
  AddServerFlags(*command, client);
  AddOutputFlag(*command, client);
  command
      ->add_option("-f,--filename", flags.files,
                   "YAML or JSON of the jobs, or folders of such files; - is standard input")
      ->type_name(kFileValue)
      ->required();
  command->add_flag("-R,--recursive", flags.recursive, "read the folders in folders, too");
  command->add_option("-n,--namespace", client.namespace_name, "of jobs that name none")
      ->type_name(kNamespaceValue);
  command->add_option("--queue", flags.queue, "LocalQueue, in place of the one that the job names")
      ->type_name(kQueueValue);
  command->add_flag("--ascii", client.ascii, "draw with ASCII characters only");
  command->footer(
      "Nothing is created. Waits are those of earlier requests for the same machines, prices "
      "those\n"
      "of the policy or of the flavor.\n"
      "Examples:\n"
      "  berth plan -f job.yaml\n"
      "  berth plan -f job.yaml --queue team-a -o json | jq '.jobs[].checks[].steps[]'");
  command->callback([&] { exit_code = RunPlan(client, flags); });
}

CLI::App& AddList(CLI::App& app, ClientFlags& client, view::ListOptions& options,
                  std::vector<std::string>& labels, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("list", "One line a workload: state, age, where it runs or why it waits");
  AddClientFlags(*command, client);
  AddOutputFlag(*command, client);
  command->add_flag("--waiting", options.waiting, "those that wait");
  command->add_flag("--running", options.running, "those that run");
  command->add_flag("--finished", options.finished, "those that are over");
  command->add_flag("--cost", options.cost, "what runs, in USD an hour and so far");
  command->add_option("-l,--selector", labels, "label=value of the job; may be repeated")
      ->delimiter(',')
      ->type_name("LABEL=VALUE");
  Choices(*command->add_option("--sort", options.sort, "order of the lines"),
          {"queue", "age", "name", "priority", "state"});
  command->footer(
      "Examples:\n"
      "  berth list -A --waiting\n"
      "  berth list -l team=vision --sort age");
  command->callback([&, command] {
    if (!command->get_subcommands().empty()) return;  // one of kueuectl's kinds
    for (const std::string& label : labels) {
      const std::size_t equals = label.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw CLI::ValidationError("-l", "\"" + label + "\" is not label=value");
      }
      options.labels[label.substr(0, equals)] = label.substr(equals + 1);
    }
    exit_code = RunList(client, options);
  });
  return *command;
}

void AddWhy(CLI::App& app, ClientFlags& client, std::string& reference, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("why", "Why a job waits: the chain from the Job to what is missing");
  AddClientFlags(*command, client);
  AddOutputFlag(*command, client);
  command
      ->add_option("NAME", reference,
                   "job/NAME, KIND/NAME (jobset/x), workload/NAME, pod/NAME, or a job's name")
      ->required()
      ->type_name(kReferenceValue);
  command->footer(
      "Examples:\n"
      "  berth why job/h100-train\n"
      "  berth why workload/job-h100-train-5c1f2 -o json");
  command->callback([&] { exit_code = RunWhy(client, reference); });
}

void AddDecisionsFlag(CLI::App& command, std::string& decisions) {
  command
      .add_option("--decisions", decisions,
                  "kueue or berth: whether Berth's own rules count; stands in place of "
                  "berth.decisions of the Configuration file")
      ->check(CLI::IsMember({"kueue", "berth"}));
}

void AddAuditFlags(CLI::App& command, UpFlags& flags) {
  command
      .add_option("--audit-log", flags.audit_log,
                  "log every request to this file, a line of JSON each")
      ->type_name(kFileValue);
  command
      .add_option("--audit-policy", flags.audit_policy,
                  "which requests are logged, and how much of them (a Policy of audit.k8s.io/v1)")
      ->type_name(kFileValue);
  command
      .add_option("--audit-log-maxsize", flags.audit_log_megabytes,
                  "size of the audit log at which it is rotated")
      ->type_name("MEGABYTES")
      ->capture_default_str();
  command
      .add_option("--audit-log-maxbackup", flags.audit_log_kept, "rotated audit logs that are kept")
      ->type_name("FILES")
      ->capture_default_str();
}

void AddUp(CLI::App& app, UpFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "up", "A whole cluster in this process: API, queues, pools, and jobs that really run");
  command
      ->add_option("--data-dir", flags.data_dir,
                   "where the cluster's state lives (default ~/.local/share/berth)")
      ->type_name(kDirectoryValue);
  command
      ->add_option("--kubeconfig", flags.kubeconfig,
                   "file to write (default: kubeconfig in the data directory)")
      ->type_name(kFileValue);
  command->add_option("--listen", flags.listen, "where the API is served; port 0 takes a free one")
      ->type_name("ADDRESS:PORT");
  command
      ->add_option("--image", flags.images,
                   "run the program at PATH, or the OCI image in FOLDER as oci:FOLDER, for NAME")
      ->type_name("NAME=PATH");
  command->add_flag("--allow-remote", flags.allow_remote,
                    "let --listen name an address that other machines reach");
  command->add_option("--job-user", flags.job_user, "run programs of jobs as this user; as root")
      ->type_name("NAME");
  command
      ->add_option("--log-limit", flags.log_limit,
                   "kept of each container's log; 0 keeps all of it")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_flag("--reset", flags.reset, "begin with an empty cluster");
  command->add_option("--config", flags.config, "Kueue Configuration file")->type_name(kFileValue);
  AddDecisionsFlag(*command, flags.decisions);
  command->add_flag("--controllers,!--no-controllers", flags.controllers,
                    "run the controllers too; without them, run berth controller beside it");
  command->add_flag("--node,!--no-node", flags.machine_node,
                    "this machine is the node \"berth\" while the cluster has no NodePool and no "
                    "other node; without it, such a cluster has none");
  command
      ->add_flag("--api-only", flags.api_only,
                 "serve Kubernetes' API alone: no Jobs, pods, garbage collection, cloud and "
                 "queues; for other programs' controllers and for tests of operators")
      ->excludes("--image", "--job-user", "--log-limit", "--config");
  AddAuditFlags(*command, flags);
  AddRecords(*command, flags);
  AddReadApiFlags(*command, flags.read_api_listen, flags.read_api_actions, flags.read_api_proxy);
  command
      ->add_flag("--dashboard", flags.dashboard,
                 "print an address that signs a browser in to the page, once, within five minutes; "
                 "without --read-api-listen on a free port")
      ->excludes("--api-only");
  command->footer(
      "Examples:\n"
      "  berth up\n"
      "  berth up --dashboard\n"
      "  berth up --data-dir /tmp/try --listen 127.0.0.1:0 --image my/train:1=./train.sh\n"
      "Then: export KUBECONFIG=…/kubeconfig; kubectl get nodes; berth status\n"
      "Stored and validated, not acted on: HorizontalPodAutoscaler, Ingress, IngressClass,\n"
      "  CertificateSigningRequest, NetworkPolicy,\n"
      "  CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment,\n"
      "  FlowSchema, PriorityLevelConfiguration,\n"
      "  VolumeAttributesClass, StorageClasses of other provisioners than berth.dev/folder");
  command->callback([&] { exit_code = RunUp(flags); });
}

void AddUser(CLI::App& app, UserFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("user", "Users of the cluster that `berth up` runs");
  command->require_subcommand(1);
  CLI::App* add = command->add_subcommand(
      "add", "A certificate and a kubeconfig for one user; rights come from role bindings");
  add->add_option("NAME", flags.name, "name of the user")->required()->type_name("NAME");
  add->add_option("--group", flags.groups, "a group of the user; may be repeated")
      ->type_name("GROUP");
  add->add_option("--data-dir", flags.data_dir,
                  "data directory of `berth up` (default ~/.local/share/berth)")
      ->type_name(kDirectoryValue);
  add->add_option("--kubeconfig", flags.kubeconfig,
                  "kubeconfig that `berth up` has written (default: in the data directory)")
      ->type_name(kFileValue);
  add->add_option("-n,--namespace", flags.namespace_name, "namespace of the kubeconfig")
      ->type_name(kNamespaceValue)
      ->capture_default_str();
  add->add_option("--days", flags.days, "days until the certificate ends")->capture_default_str();
  add->add_option("--out", flags.out, "file to write (default: standard output)")
      ->type_name(kFileValue);
  add->footer(
      "Examples:\n"
      "  berth user add jane --group team-a -n team-a --out jane.kubeconfig\n"
      "  kubectl create rolebinding jane -n team-a --clusterrole edit --user jane");
  add->callback([&] { exit_code = RunUserAdd(flags); });
}

void AddController(CLI::App& app, ControllerFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "controller", "The queue controllers against any Kubernetes: in place of Kueue's manager");
  AddServerFlags(*command, flags.client);
  command->add_option("--config", flags.config, "Kueue Configuration file")->type_name(kFileValue);
  AddDecisionsFlag(*command, flags.decisions);
  AddListenFlags(*command, flags);
  CLI::Option* controllers =
      command
          ->add_option(
              "--controllers", flags.controllers,
              "run these alone: " + program::ControllerWords() +
                  ", jobs/NAME (a job kind), * (all), -NAME (but for one); empty: webhooks alone")
          ->type_name("LIST")
          ->capture_default_str();
  command
      ->add_option(
          "--requeue-interval", flags.requeue_interval,
          "how long workloads that may fit again wait for others before they are looked at "
          "(default 1s)")
      ->type_name("DURATION");
  command->add_flag("--leader-elect,!--no-leader-elect", flags.leader_election,
                    "take part in leader election");
  AddRecords(*command, flags);
  CLI::Option* shadow = command->add_flag(
      "--shadow", flags.shadow,
      "decide beside Kueue, write nothing, and report the differences: /shadow on the port of the "
      "metrics, metrics berth_shadow_…, a line in the log every minute");
  shadow->excludes(controllers);
  command
      ->add_option("--shadow-window", flags.shadow_window,
                   "how long Kueue may take to do what Berth would do (default 10s)")
      ->needs(shadow)
      ->type_name("DURATION");
  command->footer(
      "Examples:\n"
      "  berth controller --kubeconfig ~/.kube/config --no-leader-elect\n"
      "  berth controller --shadow --no-metrics-secure --metrics-listen 127.0.0.1:8443");
  command->callback([&] { exit_code = RunController(flags); });
}

void AddCloud(CLI::App& app, ClientFlags& client, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "cloud", "The emulated cloud on any Kubernetes: node pools, queued provisioning, stock-outs");
  AddServerFlags(*command, client);
  command->footer(
      "Its machines are nodes without a kubelet: kwok keeps them ready and plays their pods.\n"
      "`berth up` has this cloud by itself.\n"
      "Example:\n"
      "  berth cloud --kubeconfig rehearsal.yaml &\n"
      "  kubectl apply -f manifests/samples/dws/nodepools.yaml");
  command->callback([&] { exit_code = RunCloud(client); });
}

void AddAdopt(CLI::App& app, ClientFlags& client, bool& check, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "adopt", "What Berth would do with the objects of a cluster in which Kueue is at work");
  AddServerFlags(*command, client);
  AddOutputFlag(*command, client);
  command->add_option("-n,--namespace", client.namespace_name, "of Kueue (default kueue-system)")
      ->type_name(kNamespaceValue);
  command->add_flag("--ascii", client.ascii, "draw with ASCII characters only");
  command->add_flag("--check", check, "read and report; nothing is written")->required();
  command->footer(
      "Grades: first (to be done before), missing (would wait for what Berth lacks; exit code 1),\n"
      "differs, stays (left alone; its quota counts). docs/operate/change-over.md has the steps.\n"
      "Examples:\n"
      "  berth adopt --check\n"
      "  berth adopt --check -o json | jq '.findings[] | select(.grade == \"missing\")'");
  command->callback([&] { exit_code = RunAdopt(client); });
}

void AddKinds(CLI::App& app, ClientFlags& client, std::vector<std::string>& files, int& exit_code) {
  CLI::App* command = app.add_subcommand("kinds", "The kinds of jobs, and whether they are queued");
  AddServerFlags(*command, client);
  AddOutputFlag(*command, client);
  command->add_flag("--ascii", client.ascii, "draw with ASCII characters only");
  command->footer(
      "A kind is built in, or declared by a JobKind object (docs/guide/job-kinds.md).\n"
      "Examples:\n"
      "  berth kinds\n"
      "  berth kinds check -f kind.yaml -f sample.yaml");
  CLI::App* check = command->add_subcommand(
      "check", "What a description makes of sample objects; needs no cluster");
  AddOutputFlag(*check, client);
  check->add_option("-f,--filename", files, "YAML: one description, and objects of its kind")
      ->type_name("FILE")
      ->required();
  check->callback([&] { exit_code = RunKindsCheck(client, files); });
  command->callback([&, check] {
    if (!check->parsed()) exit_code = RunKinds(client);
  });
}

CommandOption OptionOf(const CLI::Option& option) {
  CommandOption out{.help = option.get_description()};
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) out.value = option.get_type_name();
  return out;
}

// The command tree for completion, from the parser of CLI11.
Command CommandOf(const CLI::App& app) {
  Command command{.name = app.get_name(), .help = app.get_description()};
  command.aliases = app.get_aliases();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      command.positionals.push_back(option->get_type_name());
    } else {
      command.options.push_back(OptionOf(*option));
    }
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(CommandOf(*below));
  }
  return command;
}

void AddBackup(CLI::App& app, ClientFlags& client, std::string& file, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("backup", "A copy of the cluster that `berth up` runs, while it runs");
  AddServerFlags(*command, client);
  command->add_option("FILE", file, "to be written; must not exist")
      ->required()
      ->type_name(kFileValue);
  command->footer(
      "Examples:\n"
      "  berth backup monday.db\n"
      "Back again, as state.db in an empty data directory:\n"
      "  mkdir restored && cp monday.db restored/state.db && berth up --data-dir restored");
  command->callback([&] { exit_code = RunBackup(client, file); });
}

void AddVersionAndCompletion(CLI::App& app, ClientFlags& client, std::string& version_config,
                             std::string& shell, int& exit_code) {
  CLI::App* version = app.add_subcommand("version", "Versions of berth and of the cluster");
  AddServerFlags(*version, client);
  AddOutputFlag(*version, client);
  version
      ->add_option("--config", version_config,
                   "Configuration file: name the rules of decisions that are on with it")
      ->type_name(kFileValue);
  version->callback([&] { exit_code = RunVersion(client, version_config); });
  CLI::App* completion = app.add_subcommand("completion", "Completion script for a shell");
  Choices(*completion->add_option("SHELL", shell, "whose script is written")->required(),
          {"bash", "zsh", "fish"});
  completion->footer(
      "Examples:\n"
      "  source <(berth completion bash)\n"
      "  source <(berth completion zsh)\n"
      "  berth completion fish | source");
  completion->callback([&] { std::fputs(CompletionScript(shell).c_str(), stdout); });
}

int Run(int argc, char** argv) {
  CLI::App app{
      "berth: batch job queues for Kubernetes that speak Kueue's API and explain every wait",
      "berth"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("berth ") + program::kVersion,
                       "the version of berth");
  app.footer(
      "Start with `berth up`, or point KUBECONFIG at a cluster and try `berth status`.\n"
      "`berth COMMAND --help` shows examples.");
  int exit_code = view::kExitAnswered;
  ClientFlags client;
  std::string version_config;
  StatusFlags status;
  view::ListOptions list;
  std::vector<std::string> labels;
  std::string reference;
  UpFlags up;
  ControllerFlags controller;
  std::string shell;
  std::string backup_file;
  AddStatus(app, client, status, exit_code);
  KueueVerbFlags kueue_verbs;
  CLI::App& list_command = AddList(app, client, list, labels, exit_code);
  AddWhy(app, client, reference, exit_code);
  AddCapacity(app, client, exit_code);
  PlanFlags plan;
  AddPlan(app, client, plan, exit_code);
  VirtualTimeFlags virtual_time;
  AddVirtualTimeCommands(app, virtual_time, exit_code);
  scenarios::TestFlags test;
  AddTest(app, test, exit_code);
  LedgerCommandFlags ledger;
  AddLedgerCommands(app, ledger, exit_code);
  AddUp(app, up, exit_code);
  UserFlags user;
  AddUser(app, user, exit_code);
  AddController(app, controller, exit_code);
  AddCloud(app, client, exit_code);
  AddBackup(app, client, backup_file, exit_code);
  bool adopt_check = false;
  AddAdopt(app, client, adopt_check, exit_code);
  std::vector<std::string> kind_files;
  AddKinds(app, client, kind_files, exit_code);
  AddKueueVerbs(app, list_command, kueue_verbs, exit_code);
  AddVersionAndCompletion(app, client, version_config, shell, exit_code);
  // The shells pass words that need not be valid, so they are not parsed.
  if (argc > 1 && std::string_view(argv[1]) == kCompleteCommand) {
    return RunComplete(CommandOf(app), {argv + 2, argv + argc});
  }
  try {
    const Command program = CommandOf(app);
    std::vector<std::string> words =
        SplitEmptyValues(program, CommandFirst(program, {argv + 1, argv + argc}));
    if (const std::string unknown = UnknownCommand(program, words); !unknown.empty()) {
      view::Complain({ErrorCode::kInvalid, unknown});
      return view::kExitUsage;
    }
    std::reverse(words.begin(), words.end());  // CLI11's order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? view::kExitAnswered : view::kExitUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace berth::cli

int main(int argc, char** argv) { return berth::cli::Run(argc, argv); }
