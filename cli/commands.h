// cli/commands.h — what each subcommand takes and does. main.cc reads the command line into these.
//
// Every Run… returns the exit code: 0 answered, 1 not found or refused, 2 wrong usage, 4 the API
// cannot be reached. Answers go to stdout, complaints to stderr.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/completion.h"
#include "cli/screens/list.h"
#include "cli/screens/status.h"

namespace berth::cli {

inline constexpr int kExitAnswered = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 4;

enum class OutputFormat { kText, kJson, kYaml };

// What every command that speaks to a cluster takes, as kubectl does.
struct ClientFlags {
  std::string kubeconfig;      // empty: KUBECONFIG, then ~/.kube/config, then the pod's account
  std::string context;         // empty: the current one
  std::string namespace_name;  // empty: the context's, then "default"
  bool all_namespaces = false;
  OutputFormat output = OutputFormat::kText;
  bool ascii = false;
  Duration timeout = std::chrono::seconds(30);  // of one request
};

struct StatusFlags {
  StatusOptions options;
  bool watch = false;  // redraw every second until interrupted
};

int RunStatus(const ClientFlags& client, const StatusFlags& flags);
int RunList(const ClientFlags& client, ListOptions options);
int RunWhy(const ClientFlags& client, const std::string& reference);
// `config`: a Configuration file, whose decisions are named; empty: those of none.
int RunVersion(const ClientFlags& client, const std::string& config);
// A copy of the cluster that `berth up` runs, in `file`, which must not exist.
int RunBackup(const ClientFlags& client, const std::string& file);

// What the scripts of `berth completion` ask (cli/completion.h); `words` follow it.
inline constexpr char kCompleteCommand[] = "__complete";
int RunComplete(const Command& program, const std::vector<std::string>& words);

struct UpFlags {
  std::string data_dir;    // empty: $XDG_DATA_HOME/berth, ~/.local/share/berth
  std::string kubeconfig;  // empty: kubeconfig in the data directory
  std::string listen = "127.0.0.1:6443";
  std::vector<std::string> images;  // NAME=PATH
  bool reset = false;               // begin with an empty cluster
  std::string config;               // Kueue's Configuration file
  std::string decisions;            // kueue, berth; empty: as the file says
  bool allow_remote = false;        // `listen` may be another address than loopback
  std::string job_user;             // whose rights programs of jobs get; empty: ours
  std::string log_limit = "64Mi";   // kept of each container's log; "0": all
  bool controllers = true;          // false: `berth controller` is run beside it
};
int RunUp(const UpFlags& flags);

struct ControllerFlags {
  ClientFlags client;
  std::string config;
  std::string decisions;  // kueue, berth; empty: as the file says
  // nullopt: as the file says, else Kueue's default; empty or "0": none.
  std::optional<std::string> metrics_listen;
  std::optional<std::string> health_listen;
  bool metrics_secure = true;            // HTTPS and reviews of tokens; false: plain, for everybody
  std::string webhook_listen = ":9443";  // empty: no webhooks are served
  bool leader_election = true;
};
int RunController(const ControllerFlags& flags);

// The emulated cloud on the cluster of the kubeconfig.
int RunCloud(const ClientFlags& client);

}  // namespace berth::cli
