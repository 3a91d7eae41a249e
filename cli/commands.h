// cli/commands.h — options and functions of each subcommand; main.cc parses the command line.
//
// Every Run… returns the exit code: 0 success, 1 not found or refused, 2 wrong usage, 4 the API is
// unreachable. Answers go to stdout, errors to stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/completion.h"
#include "cli/ledger_flags.h"
#include "view/output.h"
#include "view/screens/list.h"
#include "view/screens/status.h"
#include "view/session.h"

namespace berth::cli {

// The options of every command that talks to a cluster, as kubectl has them.
struct ClientFlags : view::ClientOptions {
  bool all_namespaces = false;
  view::OutputFormat output = view::OutputFormat::kText;
  bool ascii = false;
};

struct StatusFlags {
  view::StatusOptions options;
  bool watch = false;  // redraw every second until interrupted
};

int RunStatus(const ClientFlags& client, const StatusFlags& flags);
int RunList(const ClientFlags& client, view::ListOptions options);
int RunCapacity(const ClientFlags& client);
struct PlanFlags {
  std::vector<std::string> files;  // and folders
  bool recursive = false;          // reads the folders in folders, too
  std::string queue;               // LocalQueue; empty: the one that each job names
};
// What the queue would do with jobs that are not created.
int RunPlan(const ClientFlags& client, const PlanFlags& flags);
int RunWhy(const ClientFlags& client, const std::string& reference);
// What Berth would do with a cluster in which Kueue is at work; the namespace is that of Kueue
// (empty: kueue-system). Refused where some object would wait for something that Berth lacks.
int RunAdopt(const ClientFlags& client);
// The job kinds that the cluster may have, and the state of each.
int RunKinds(const ClientFlags& client);
// Reads one description of a job kind, and sample objects of the kind; needs no cluster. Refused
// where a sample does not fit.
int RunKindsCheck(const ClientFlags& client, const std::vector<std::string>& files);
// `config`: a Configuration file, whose own rules are named; empty: the defaults.
int RunVersion(const ClientFlags& client, const std::string& config);
// Copies the cluster that `berth up` runs into `file`, which must not exist.
int RunBackup(const ClientFlags& client, const std::string& file);

// Answers the scripts of `berth completion` (cli/completion.h); `words` follow the command.
inline constexpr char kCompleteCommand[] = "__complete";
int RunComplete(const Command& program, const std::vector<std::string>& words);

// A user of the cluster of `berth up` on this machine.
struct UserFlags {
  std::string name;
  std::vector<std::string> groups;
  std::string data_dir;    // see UpFlags
  std::string kubeconfig;  // which `berth up` has written; empty: that in the data directory
  std::string namespace_name = "default";
  int days = 365;
  std::string out;  // file to write; empty: standard output
};
int RunUserAdd(const UserFlags& flags);

// The flags of cli/proxy_flags.h.
struct PageProxyFlags {
  std::string client_ca;  // a PEM file; empty: no proxy is trusted
  std::vector<std::string> names;
  std::string user_header = "X-Forwarded-User";
  std::string groups_header = "X-Forwarded-Groups";
};

struct UpFlags {
  std::string data_dir;    // empty: $XDG_DATA_HOME/berth, ~/.local/share/berth
  std::string kubeconfig;  // empty: kubeconfig in the data directory
  std::string listen = "127.0.0.1:6443";
  std::vector<std::string> images;          // NAME=PATH, NAME=oci:FOLDER
  bool reset = false;                       // starts with an empty cluster
  std::string config;                       // Kueue's Configuration file
  std::string decisions;                    // kueue, berth; empty: the file's value
  bool allow_remote = false;                // allows a `listen` address other than loopback
  std::string job_user;                     // user of the jobs' programs; empty: this process' user
  std::string log_limit = "64Mi";           // limit of each container's log; "0": no limit
  bool controllers = true;                  // false: `berth controller` runs in another process
  bool machine_node = true;                 // this machine is a node while there is no other
  bool api_only = false;                    // without cluster, cloud, controllers and their kinds
  std::string audit_log;                    // file; empty: no audit log
  std::string audit_policy;                 // file; empty: metadata of every request
  std::int64_t audit_log_megabytes = 100;   // the limit of one file
  std::int64_t audit_log_kept = 10;         // rotated files
  LedgerFlags ledger;                       // no file given: ledger.db in the data directory
  std::optional<std::string> eta_interval;  // cli/eta_flags.h; nullopt: 1m
  std::string read_api_listen;              // the address of /api/v1; empty: not served
  PageProxyFlags read_api_proxy;
  bool read_api_actions = false;  // writes with the rights of the caller
  bool dashboard = false;         // serves /api/v1 on a free port where none is named
};
int RunUp(const UpFlags& flags);

struct ControllerFlags {
  ClientFlags client;
  std::string config;
  std::string decisions;  // kueue, berth; empty: the file's value
  // nullopt: the file's value, else Kueue's default; empty or "0": not served.
  std::optional<std::string> metrics_listen;
  std::optional<std::string> health_listen;
  bool metrics_secure = true;                    // HTTPS, with token reviews; false: plain HTTP
  std::optional<std::string> webhook_listen;     // the same form as metrics_listen
  std::optional<std::string> visibility_listen;  // the same form as metrics_listen
  std::string read_api_listen;                   // the address of /api/v1; empty or "0": not served
  bool read_api_actions = false;                 // writes with the rights of the caller
  std::string read_api_sessions;                 // folder of the page's sessions; empty: memory
  PageProxyFlags read_api_proxy;
  std::string controllers = "*";  // program/controller_selection.h
  // Go's notation; nullopt: one second, or the value of the gate SchedulerLongRequeueInterval.
  std::optional<std::string> requeue_interval;
  bool leader_election = true;
  bool shadow = false;                       // decides and compares, writes nothing
  std::optional<std::string> shadow_window;  // Go's notation; nullopt: ten seconds
  LedgerFlags ledger;                        // no file given: none is written
  std::optional<std::string> eta_interval;   // cli/eta_flags.h; nullopt: never
};
int RunController(const ControllerFlags& flags);

// Runs the emulated cloud on the kubeconfig's cluster.
int RunCloud(const ClientFlags& client);

}  // namespace berth::cli
