#include "local/cluster/network/service_controller.h"

#include "local/cluster/network/service_plan.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr char kByNamespace[] = "namespace";
constexpr char kByService[] = "service";
// Pods become ready in batches: one reconcile per interval.
constexpr Duration kEndpointBatch = std::chrono::milliseconds(20);
constexpr Duration kServeAgain = std::chrono::seconds(2);
constexpr Duration kServeMore = std::chrono::seconds(30);  // other Services may have ended

// What an endpoint says of a pod.
bool IsSameEndpoint(const Json& a, const Json& b) {
  return a.at("metadata").value("labels", Json()) == b.at("metadata").value("labels", Json()) &&
         StringAt(a, {"status", "podIP"}) == StringAt(b, {"status", "podIP"}) &&
         HasEnded(a) == HasEnded(b) && IsDeleting(a) == IsDeleting(b) &&
         ConditionIs(a, "Ready", "True") == ConditionIs(b, "Ready", "True");
}

}  // namespace

ServiceController::ServiceController(Api& api, ObjectCache& cache, Executor& executor,
                                     Executor& event_writes, const Clock& clock,
                                     PodNetwork* network)
    : cache_(cache),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "service-controller"),
      network_(network),
      services_(
          executor, "service", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.AddIndex(kServices, kByNamespace, [](const Json& service) -> std::vector<std::string> {
    return {NamespaceOf(service)};
  });
  cache_.AddIndex(kEndpointSlices, kByService, [](const Json& slice) -> std::vector<std::string> {
    const Json* owner = ControllerRef(slice);
    if (owner == nullptr) return {};
    return {StringAt(*owner, {"uid"})};
  });
  cache_.AddIndex(kPods, kByNamespace,
                  [](const Json& pod) -> std::vector<std::string> { return {NamespaceOf(pod)}; });
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  for (const ResourceId* resource : {&kServices, &kEndpoints}) {
    cache_.Listen(*resource,
                  [this](const ObjectChange& change) { services_.Add(KeyOf(change.any())); });
  }
}

void ServiceController::Start() {
  for (const Object& service : cache_.All(kServices)) services_.Add(KeyOf(*service));
  services_.Start();
}

void ServiceController::OnPod(const ObjectChange& change) {
  const bool is_known = change.previous != nullptr && change.current != nullptr;
  if (is_known && IsSameEndpoint(*change.previous, *change.current)) return;
  for (const Object& service : cache_.ByIndex(kServices, kByNamespace, NamespaceOf(change.any()))) {
    if (HasSelector(*service)) services_.AddAfter(KeyOf(*service), kEndpointBatch);
  }
}

Result<NextLook> ServiceController::Look(const ObjectKey& key) {
  const Object service = cache_.Get(kServices, key);
  if (service == nullptr || IsDeleting(*service)) {
    if (network_ != nullptr) network_->RemoveService(key.namespace_name, key.name);
    return NextLook{};
  }
  Json subsets = Json::array();
  if (HasSelector(*service)) {
    subsets = PlanEndpoints(*service, cache_.ByIndex(kPods, kByNamespace, key.namespace_name));
    BERTH_CHECK_OK(WriteEndpoints(*service, subsets));
    BERTH_CHECK_OK(WriteSlices(*service, subsets));
  } else if (const Object endpoints = cache_.Get(kEndpoints, key); endpoints != nullptr) {
    subsets = ArrayAt(*endpoints, {"subsets"});
  }
  BERTH_CHECK_OK(WriteIngress(*service));
  if (network_ == nullptr) return NextLook{};
  const PodNetwork::Served served =
      network_->SetService(service, RoutesOf(*service, subsets), NamesOf(*service, subsets));
  if (!served.refusal.empty()) {
    events_.Record(*service, EventType::kWarning, "PortsNotServed",
                   served.refusal + ": the others refuse connections");
    return NextLook{kServeMore};
  }
  return served.all ? NextLook{} : NextLook{kServeAgain};
}

Status ServiceController::WriteEndpoints(const Json& service, const Json& subsets) {
  return WriteObject(kEndpoints, MakeEndpoints(service, subsets));
}

Status ServiceController::WriteSlices(const Json& service, const Json& subsets) {
  const std::vector<Json> slices = PlanSlices(service, subsets);
  for (const Json& slice : slices) BERTH_CHECK_OK(WriteObject(kEndpointSlices, slice));
  for (const Object& known : cache_.ByIndex(kEndpointSlices, kByService, UidOf(service))) {
    bool is_wanted = false;
    for (const Json& slice : slices) is_wanted = is_wanted || NameOf(slice) == NameOf(*known);
    if (!is_wanted) BERTH_CHECK_OK(writer_.Delete(kEndpointSlices, *known));
  }
  return OkStatus();
}

// Creates the object, or changes what differs; an object of another owner is left alone.
Status ServiceController::WriteObject(const ResourceId& resource, const Json& object) {
  const Object known = cache_.Get(resource, KeyOf(object));
  if (known == nullptr) {
    const auto created = writer_.Create(resource, NamespaceOf(object), object);
    const bool is_gone =
        !created && (created.error().reason == "NotFound" || created.error().reason == "Forbidden");
    return created || is_gone ? OkStatus() : ToError(created.error());
  }
  const Json* owner = ControllerRef(*known);
  if (owner == nullptr || *owner != object["metadata"]["ownerReferences"][0]) return OkStatus();
  const auto written = writer_.Edit(resource, KeyOf(object), UidOf(*known), "", [&](Json& one) {
    for (const char* member : {"subsets", "endpoints", "ports"}) {
      if (object.contains(member)) {
        one[member] = object[member];
      } else {
        one.erase(member);
      }
    }
    return true;
  });
  if (written || written.error().reason == "NotFound") return OkStatus();
  return ToError(written.error());
}

// On one machine the Service's own address is what an external balancer would give.
Status ServiceController::WriteIngress(const Json& service) {
  const std::string address = StringAt(service, {"spec", "clusterIP"});
  if (StringAt(service, {"spec", "type"}) != "LoadBalancer" || address.empty()) return OkStatus();
  const auto written =
      writer_.EditStatus(kServices, KeyOf(service), UidOf(service), [&](Json& one) {
        one["status"]["loadBalancer"]["ingress"] = Json::array({{{"ip", address}}});
        return true;
      });
  if (written || written.error().reason == "NotFound") return OkStatus();
  return ToError(written.error());
}

}  // namespace berth::local::cluster
