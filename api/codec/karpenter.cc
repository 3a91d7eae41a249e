#include "api/codec/karpenter.h"

#include <algorithm>

#include "api/codec/parts.h"
#include "base/go_duration.h"

namespace berth::api {
namespace {

constexpr ResourceKind kNodePool{"karpenter.sh", "v1", "NodePool", "nodepools", false};
constexpr ResourceKind kEvent{"", "v1", "Event", "events"};
constexpr ResourceKind kNodeClaim{"karpenter.sh", "v1", "NodeClaim", "nodeclaims", false};

void ReadRequirement(const Reader& in, NodeSelectorRequirement& out) {
  in.Field("key").Get(out.key);
  in.Field("operator").Get(out.op);
  in.Field("values").Get(out.values);
}

void ReadLife(const Reader& in, std::optional<Duration>& out) {
  std::string text;
  in.Get(text);
  if (text.empty() || text == "Never") return;
  out = ParseGoDuration(text);
  if (!out) in.Fail("\"" + text + "\" is neither a duration, such as 720h, nor Never");
}

void ReadBudget(const Reader& in, KarpenterBudget& out) {
  in.Field("nodes").Get(out.nodes);
  in.Field("reasons").Get(out.causes);
  in.Field("schedule").Get(out.schedule);
  ReadLife(in.Field("duration"), out.duration);
}

// Karpenter's definition writes the defaults into each NodePool.
void ReadDisruption(const Reader& in, KarpenterNodePool& out) {
  std::string policy;
  std::string after;
  in.Field("consolidationPolicy").Get(policy);
  in.Field("consolidateAfter").Get(after);
  out.consolidates = policy == "WhenEmptyOrUnderutilized" && after != "Never";
  in.Field("budgets").List(out.budgets, ReadBudget);
}

}  // namespace

template <>
const ResourceKind& KindOf<KarpenterNodePool>() {
  return kNodePool;
}
template <>
const ResourceKind& KindOf<KarpenterNodeClaim>() {
  return kNodeClaim;
}

template <>
const ResourceKind& KindOf<ToldEvent>() {
  return kEvent;
}

template <>
Result<KarpenterNodePool> Decode<KarpenterNodePool>(const JsonSource& object) {
  return ReadAs<KarpenterNodePool>(object, [](const Reader& in, KarpenterNodePool& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("limits").Get(out.limits);
    const Reader pod_template = spec.Field("template");
    const Reader metadata = pod_template.Field("metadata");
    metadata.Field("labels").Get(out.labels);
    const Reader nodes = pod_template.Field("spec");
    nodes.Field("requirements").List(out.requirements, ReadRequirement);
    nodes.Field("taints").List(out.taints,
                               [](const Reader& item, Taint& taint) { Read(item, taint); });
    ReadLife(nodes.Field("expireAfter"), out.expire_after);
    ReadDisruption(spec.Field("disruption"), out);
    const Reader status = in.Field("status");
    status.Field("resources").Get(out.used);
    ReadConditions(status.Field("conditions"), out.conditions);
  });
}

template <>
Result<KarpenterNodeClaim> Decode<KarpenterNodeClaim>(const JsonSource& object) {
  return ReadAs<KarpenterNodeClaim>(object, [](const Reader& in, KarpenterNodeClaim& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader status = in.Field("status");
    status.Field("nodeName").Get(out.node_name);
    ReadConditions(status.Field("conditions"), out.conditions);
  });
}

// Newer writers set eventTime and series, older ones the time stamps.
template <>
Result<ToldEvent> Decode<ToldEvent>(const JsonSource& object) {
  return ReadAs<ToldEvent>(object, [](const Reader& in, ToldEvent& out) {
    const Reader about = in.Field("involvedObject");
    about.Field("name").Get(out.about);
    in.Field("reason").Get(out.reason);
    in.Field("message").Get(out.message);
    const Reader source = in.Field("source");
    source.Field("component").Get(out.reporter);
    if (out.reporter.empty()) in.Field("reportingComponent").Get(out.reporter);
    const Reader metadata = in.Field("metadata");
    metadata.Field("creationTimestamp").Get(out.at);
    const Reader series = in.Field("series");
    WallTime begun{};
    WallTime repeated{};
    WallTime last{};
    in.Field("eventTime").Get(begun);
    series.Field("lastObservedTime").Get(repeated);
    in.Field("lastTimestamp").Get(last);
    out.at = std::max({out.at, begun, repeated, last});
  });
}

}  // namespace berth::api
