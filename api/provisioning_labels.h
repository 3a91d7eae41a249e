// api/provisioning_labels.h — labels and annotations of ProvisioningPolicies that few sources read.
// See labels.h.
//
// Threads: constants.
#pragma once

namespace berth::api {

// On a ProvisioningRequest: the pods of the Workload, of which the request is for a part.
inline constexpr char kDividedAnnotation[] = "berth.dev/divided";
// On a job and its Workload: "true" where the pods need not start together.
inline constexpr char kDivisibleAnnotation[] = "berth.dev/divisible";
// On a Workload that holds nodes for a window of its policy, and on these nodes: the policy.
inline constexpr char kPrewarmLabel[] = "berth.dev/prewarm";
// On the Workload with that label: since when no workload has had a lease on its nodes, RFC 3339.
inline constexpr char kIdleSinceAnnotation[] = "berth.dev/idle-since";
inline constexpr char kScaleDownDisabledAnnotation[] =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";
// On a Pod that holds a node until the pods of its Workload come: the Workload's name.
inline constexpr char kPlaceholderAnnotation[] = "berth.dev/placeholder-of";

}  // namespace berth::api
