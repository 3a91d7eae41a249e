// cli/server_flags.h — the options of `berth up` and `berth controller`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client_flags.h"
#include "cli/ledger_flags.h"

namespace berth::cli {

// The flags of cli/proxy_flags.h.
struct PageProxyFlags {
  std::string client_ca;  // a PEM file; empty: no proxy is trusted
  std::vector<std::string> names;
  std::string user_header = "X-Forwarded-User";
  std::string groups_header = "X-Forwarded-Groups";
};

// The flags of cli/open_id_flags.h.
struct OpenIdFlags {
  std::string issuer;  // empty: there is no provider
  std::string client_id;
  std::string secret_file;  // empty: a public client
  std::string ca_file;      // empty: the authorities of the system
  std::string scopes = "openid";
};

// The flags of /api/v1 and the page.
struct ReadApiFlags {
  std::string listen;        // empty, for the controller also "0": not served
  bool actions = false;      // writes with the rights of the caller
  std::string cluster_name;  // that the page shows; empty: its address
  PageProxyFlags proxy;
  // The following flags are those of `berth controller` alone.
  std::string sessions;  // folder of the page's sessions; empty: memory
  OpenIdFlags open_id;
};

struct UpFlags {
  std::string data_dir;    // empty: $XDG_DATA_HOME/berth, ~/.local/share/berth
  std::string kubeconfig;  // empty: kubeconfig in the data directory
  std::string listen = "127.0.0.1:6443";
  std::vector<std::string> images;          // NAME=PATH, NAME=oci:FOLDER
  bool reset = false;                       // starts with an empty cluster
  std::string restore;                      // a backup to start with; empty: none
  std::string config;                       // Kueue's Configuration file
  std::string decisions;                    // kueue, berth; empty: the file's value
  bool allow_remote = false;                // allows a `listen` address other than loopback
  std::string job_user;                     // user of the jobs' programs; empty: this process' user
  std::string log_limit = "64Mi";           // limit of each container's log; "0": no limit
  bool controllers = true;                  // false: `berth controller` runs in another process
  bool machine_node = true;                 // this machine is a node while there is no other
  bool api_only = false;                    // without cluster, cloud, controllers and their kinds
  bool samples = false;                     // makes a sample queue with two jobs
  std::string audit_log;                    // file; empty: no audit log
  std::string audit_policy;                 // file; empty: metadata of every request
  std::int64_t audit_log_megabytes = 100;   // the limit of one file
  std::int64_t audit_log_kept = 10;         // rotated files
  LedgerFlags ledger;                       // no file given: ledger.db in the data directory
  std::optional<std::string> eta_interval;  // cli/eta_flags.h; nullopt: 1m
  ReadApiFlags read_api;
  bool dashboard = false;  // serves /api/v1 on a free port if read_api.listen is empty
  bool open = false;       // opens the address of the page in the browser; sets `dashboard`
};

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
  ReadApiFlags read_api;
  std::string controllers = "*";  // program/controller_selection.h
  // Go's notation; nullopt: one second, or the value of the gate SchedulerLongRequeueInterval.
  std::optional<std::string> requeue_interval;
  bool leader_election = true;
  bool shadow = false;                       // decides and compares, writes nothing
  std::optional<std::string> shadow_window;  // Go's notation; nullopt: ten seconds
  LedgerFlags ledger;                        // no file given: none is written
  std::optional<std::string> eta_interval;   // cli/eta_flags.h; nullopt: never
};

// --decisions.
void AddDecisionsFlag(CLI::App& command, std::string& decisions);
// The options of what the controllers record: the ledger, and --eta-interval (cli/eta_flags.h).
void AddRecords(CLI::App& command, UpFlags& flags);
void AddRecords(CLI::App& command, ControllerFlags& flags);

}  // namespace berth::cli
