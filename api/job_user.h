// api/job_user.h — the user who made a job, as the webhook saw it.
//
// With --ledger-users the webhook sets the annotation on each queued job that is created, whatever
// the user wrote there, and refuses another value later. Its Workload gets a copy.
#pragma once

namespace berth::api {

inline constexpr char kUserAnnotation[] = "berth.dev/user";

}  // namespace berth::api
