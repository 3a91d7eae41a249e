// integrations/pods/queued_pod.h — a pod that is queued itself, alone or as a member of a group.
//
//     gated ──start──▶ pending ──▶ running ──▶ succeeded | failed
//       └────────── stop: condition TerminationTarget, then deletion ─────────┘
//
// The webhook gates the pod (kueue.x-k8s.io/admission) and gives it the finalizer and the label
// kueue.x-k8s.io/managed.
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/pod.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/codec/codec.h"
#include "api/object_meta.h"
#include "api/pod.h"

namespace berth::integrations {

struct QueuedPod {
  enum class Phase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };
  api::ObjectMeta meta;
  api::PodTemplate pod_template;  // the pod's spec, without labels and annotations
  std::string role;               // annotation role-hash, else the hash of the spec
  Phase phase = Phase::kPending;
  bool ready = false;                 // condition Ready
  std::optional<WallTime> failed_at;  // when its containers ended, if the pod failed
  std::string message;                // the status's message
};

using QueuedPodPtr = std::shared_ptr<const QueuedPod>;

// kInvalid: a field has a wrong type.
Result<QueuedPod> DecodeQueuedPod(const api::JsonSource& object);

bool IsGated(const QueuedPod& pod);
bool HasEnded(const QueuedPod& pod);  // succeeded or failed
// Whether the pod runs, has succeeded, or may still run: not a pod that failed, or that is being
// deleted without having a node.
bool IsRunnable(const QueuedPod& pod);
bool IsHeld(const QueuedPod& pod);                   // has the finalizer of managed pods
bool IsRunning(const QueuedPod& pod, WallTime now);  // running, and not past its deletion grace
// Whether a stop has to delete the pod: it is neither gated, ended nor being deleted.
bool HasToStop(const QueuedPod& pod);

// The group that the pod names: by annotation, else by label; empty: none.
std::string PodGroupOf(const api::ObjectMeta& pod);

}  // namespace berth::integrations
