// cli/kueue_verbs.h — kueuectl's verbs: create, stop, resume and list of Kueue's kinds, with its
// flags and columns, so that scripts change the program's name alone.
//
// Every Run… returns the exit code, as in cli/commands.h.
#pragma once

#include <string>
#include <vector>

#include "cli/client_flags.h"
#include "view/screens/kueue_objects.h"

namespace berth::cli {

enum class DryRun { kNone, kClient, kServer };

struct CreateFlags {
  ClientFlags client;
  DryRun dry_run = DryRun::kNone;
  view::NewClusterQueue cluster_queue;
  view::NewResourceFlavor flavor;
  std::string local_queue;             // the name of the LocalQueue
  std::string local_queue_target;      // --clusterqueue
  bool ignore_unknown_target = false;  // --ignore-unknown-cq
};
int RunCreateClusterQueue(const CreateFlags& flags);
int RunCreateLocalQueue(const CreateFlags& flags);
int RunCreateResourceFlavor(const CreateFlags& flags);

enum class KueueKind { kWorkload, kLocalQueue, kClusterQueue, kResourceFlavor };
enum class Activity { kStop, kResume };

struct ActivityFlags {
  ClientFlags client;
  KueueKind kind = KueueKind::kWorkload;
  std::string name;
  bool keep_already_running = false;  // queues: Hold, not HoldAndDrain
  DryRun dry_run = DryRun::kNone;
};
int RunActivity(const ActivityFlags& flags, Activity activity);

struct ListKindFlags {
  ClientFlags client;
  KueueKind kind = KueueKind::kWorkload;
  std::string selector;               // -l
  std::string field_selector;         // --field-selector
  std::string cluster_queue;          // --clusterqueue
  std::string local_queue;            // --localqueue
  std::vector<std::string> statuses;  // --status: all, pending, admitted, finished, quotareserved
  std::vector<std::string> active;    // --active: true, false
  std::string owner;                  // --for: TYPE[.GROUP]/NAME
};
int RunListKind(const ListKindFlags& flags);
int RunListPods(const ListKindFlags& flags);  // lists the pods of the job --for

}  // namespace berth::cli
