#include "cli/kueue_verbs.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "kube/client/api_client.h"
#include "view/output.h"
#include "view/screens/kueue_tables.h"
#include "view/screens/pods_of_job.h"
#include "view/session.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

constexpr char kRoot[] = "/apis/kueue.x-k8s.io/v1beta2/";

struct KindNames {
  const char* plural;
  const char* singular;
  bool namespaced;
};

KindNames NamesOf(KueueKind kind) {
  switch (kind) {
    case KueueKind::kWorkload: return {"workloads", "workload", true};
    case KueueKind::kLocalQueue: return {"localqueues", "localqueue", true};
    case KueueKind::kClusterQueue: return {"clusterqueues", "clusterqueue", false};
    case KueueKind::kResourceFlavor: return {"resourceflavors", "resourceflavor", false};
  }
  return {};
}

std::string NamespaceOf(const ClientFlags& flags, const view::Session& session) {
  return flags.namespace_name.empty() ? session.default_namespace() : flags.namespace_name;
}

// The path of the kind's collection; an empty namespace stands for all of them.
std::string PathOf(KueueKind kind, const std::string& namespace_name) {
  const KindNames names = NamesOf(kind);
  std::string path = kRoot;
  if (names.namespaced && !namespace_name.empty()) {
    path += "namespaces/" + kube::EscapeQuery(namespace_name) + "/";
  }
  return path + names.plural;
}

// Prints in kubectl's form: "clusterqueue.kueue.x-k8s.io/team created".
int Tell(const Json& object, KueueKind kind, const char* verb, const ClientFlags& flags,
         DryRun dry_run) {
  if (flags.output != view::OutputFormat::kText) {
    view::PrintStructured(object, flags.output);
    return view::kExitAnswered;
  }
  const char* how = dry_run == DryRun::kClient   ? " (client dry run)"
                    : dry_run == DryRun::kServer ? " (server dry run)"
                                                 : "";
  view::Print(std::string(NamesOf(kind).singular) + ".kueue.x-k8s.io/" +
              object["metadata"].value("name", "") + " " + verb + how + "\n");
  return view::kExitAnswered;
}

int Create(view::Session& session, const CreateFlags& flags, KueueKind kind, const Json& object) {
  if (flags.dry_run == DryRun::kClient) {
    return Tell(object, kind, "created", flags.client, flags.dry_run);
  }
  std::string path = PathOf(kind, object["metadata"].value("namespace", ""));
  if (flags.dry_run == DryRun::kServer) path += "?dryRun=All";
  const Result<Json> made = session.Write("POST", path, "application/json", object);
  if (!made) return view::Complain(made.error());
  return Tell(*made, kind, "created", flags.client, flags.dry_run);
}

// The path of a list with selectors; empty: none.
std::string Selected(std::string path, const std::string& labels, const std::string& fields) {
  std::string query;
  if (!labels.empty()) query += "&labelSelector=" + kube::EscapeQuery(labels);
  if (!fields.empty()) query += "&fieldSelector=" + kube::EscapeQuery(fields);
  if (!query.empty()) path += "?" + query.substr(1);
  return path;
}

Result<Json> ReadList(view::Session& session, KueueKind kind, const std::string& namespace_name,
                      const ListKindFlags& flags) {
  const std::string path =
      Selected(PathOf(kind, namespace_name), flags.selector, flags.field_selector);
  return session.GetAll({path}).front();
}

// The positions of the waiting workloads of `queues` ("namespace/name"), from the visibility API;
// none of a queue that cannot be read.
view::QueuePositions ReadPositions(view::Session& session, const std::vector<std::string>& queues) {
  std::vector<std::string> paths;
  for (const std::string& queue : queues) {
    const std::size_t slash = queue.find('/');
    paths.push_back("/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/" + queue.substr(0, slash) +
                    "/localqueues/" + queue.substr(slash + 1) + "/pendingworkloads");
  }
  view::QueuePositions positions;
  for (const Result<Json>& summary : session.GetAll(paths)) {
    if (summary) view::AddPositions(*summary, positions);
  }
  return positions;
}

}  // namespace

int RunCreateClusterQueue(const CreateFlags& flags) {
  const Result<Json> object = view::BuildClusterQueue(flags.cluster_queue);
  if (!object) return view::Complain(object.error());
  const auto session = view::Session::Open(flags.client);
  if (!session) return view::Complain(session.error());
  return Create(**session, flags, KueueKind::kClusterQueue, *object);
}

int RunCreateLocalQueue(const CreateFlags& flags) {
  const auto session = view::Session::Open(flags.client);
  if (!session) return view::Complain(session.error());
  if (!flags.ignore_unknown_target) {
    const std::string path =
        PathOf(KueueKind::kClusterQueue, "") + "/" + kube::EscapeQuery(flags.local_queue_target);
    const Result<Json> target = (*session)->GetAll({path}).front();
    if (!target && target.error().code == ErrorCode::kNotFound) {
      return view::Complain(
          {ErrorCode::kNotFound, "no ClusterQueue is named \"" + flags.local_queue_target +
                                     "\": create it first, or say --ignore-unknown-cq"});
    }
    if (!target) return view::Complain(target.error());
  }
  return Create(**session, flags, KueueKind::kLocalQueue,
                view::BuildLocalQueue(NamespaceOf(flags.client, **session), flags.local_queue,
                                      flags.local_queue_target));
}

int RunCreateResourceFlavor(const CreateFlags& flags) {
  const Result<Json> object = view::BuildResourceFlavor(flags.flavor);
  if (!object) return view::Complain(object.error());
  const auto session = view::Session::Open(flags.client);
  if (!session) return view::Complain(session.error());
  return Create(**session, flags, KueueKind::kResourceFlavor, *object);
}

int RunActivity(const ActivityFlags& flags, Activity activity) {
  const auto session = view::Session::Open(flags.client);
  if (!session) return view::Complain(session.error());
  const bool stops = activity == Activity::kStop;
  Json spec;
  if (flags.kind == KueueKind::kWorkload) {
    spec = {{"active", !stops}};
  } else {
    const char* held = flags.keep_already_running ? "Hold" : "HoldAndDrain";
    spec = {{"stopPolicy", stops ? held : "None"}};
  }
  std::string path = PathOf(flags.kind, NamespaceOf(flags.client, **session)) + "/" +
                     kube::EscapeQuery(flags.name);
  const bool client_only = flags.dry_run == DryRun::kClient;
  if (flags.dry_run == DryRun::kServer) path += "?dryRun=All";
  Result<Json> object =
      client_only
          ? (*session)->GetAll({path}).front()
          : (*session)->Write("PATCH", path, "application/merge-patch+json", Json{{"spec", spec}});
  if (!object) return view::Complain(object.error());
  if (client_only) object->merge_patch({{"spec", spec}});
  return Tell(*object, flags.kind, stops ? "stopped" : "resumed", flags.client, flags.dry_run);
}

int RunListKind(const ListKindFlags& flags) {
  const auto session = view::Session::Open(flags.client);
  if (!session) return view::Complain(session.error());
  const std::string where = flags.client.all_namespaces ? "" : NamespaceOf(flags.client, **session);
  Result<Json> list = ReadList(**session, flags.kind, where, flags);
  if (!list) return view::Complain(list.error());
  view::KueueTable table{.list = *std::move(list),
                         .now = SystemClock().Now(),
                         .with_namespace = flags.client.all_namespaces};
  table.filter = {.cluster_queue = flags.cluster_queue,
                  .local_queue = flags.local_queue,
                  .statuses = flags.statuses,
                  .active = flags.active,
                  .owner = flags.owner};
  if (flags.kind == KueueKind::kWorkload) {
    const Result<Json> queues = ReadList(**session, KueueKind::kLocalQueue, where, {});
    if (queues) table.local_queues = *queues;
  }
  view::Filter(table, flags.kind == KueueKind::kWorkload);
  if (flags.client.output != view::OutputFormat::kText) {
    view::PrintStructured(table.list, flags.client.output);
    return view::kExitAnswered;
  }
  if (flags.kind == KueueKind::kWorkload) {
    table.positions = ReadPositions(**session, view::WaitingQueues(table));
  }
  const view::TextStyle style = view::DetectStyle(flags.client.ascii);
  switch (flags.kind) {
    case KueueKind::kWorkload: view::Print(view::RenderWorkloads(table, style)); break;
    case KueueKind::kLocalQueue: view::Print(view::RenderLocalQueues(table, style)); break;
    case KueueKind::kClusterQueue: view::Print(view::RenderClusterQueues(table, style)); break;
    case KueueKind::kResourceFlavor: view::Print(view::RenderResourceFlavors(table, style)); break;
  }
  return view::kExitAnswered;
}

int RunListPods(const ListKindFlags& flags) {
  const Result<view::JobReference> reference = view::ParseJobReference(flags.owner);
  if (!reference) {
    view::Complain(reference.error());
    return view::kExitUsage;
  }
  const auto session = view::Session::Open(flags.client);
  if (!session) return view::Complain(session.error());
  const std::string where = flags.client.all_namespaces ? "" : NamespaceOf(flags.client, **session);
  const std::string jobs_path = Selected(reference->ListPath(kube::EscapeQuery(where)), "",
                                         "metadata.name=" + reference->name);
  const Result<Json> jobs = (*session)->GetAll({jobs_path}).front();
  if (!jobs) return view::Complain(jobs.error());
  const Json found = jobs->value("items", Json::array());
  const std::string of_job = found.empty() ? "" : view::PodSelectorOf(*reference, found.front());
  if (of_job.empty()) {  // no such job, or one that has begun no pods
    view::Print("No resources found\n");
    return view::kExitAnswered;
  }
  const std::string of_user = flags.selector.empty() ? "" : flags.selector + ",";
  const std::string in = where.empty() ? "" : "/namespaces/" + kube::EscapeQuery(where);
  const std::string path =
      Selected("/api/v1" + in + "/pods", of_user + of_job, flags.field_selector);
  const bool as_text = flags.client.output == view::OutputFormat::kText;
  const Result<Json> pods =
      as_text ? (*session)->GetTable(path) : (*session)->GetAll({path}).front();
  if (!pods) return view::Complain(pods.error());
  if (as_text) {
    view::Print(
        view::RenderServerTable(*pods, where.empty(), view::DetectStyle(flags.client.ascii)));
  } else {
    view::PrintStructured(*pods, flags.client.output);
  }
  return view::kExitAnswered;
}

}  // namespace berth::cli
