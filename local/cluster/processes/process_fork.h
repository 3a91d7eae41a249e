// local/cluster/processes/process_fork.h — executes a program in a child, and reports why that
// fails.
//
//     clone ─▶ the guard knows the group ─▶ record ─▶ network, mounts, user, folder, files ─▶ exec
//
// Internal to process_host.cc, and the only file of the project that makes children for programs of
// users.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "local/cluster/network/bind_supervisor.h"
#include "local/cluster/processes/process_guard.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

struct StartedProcess {
  pid_t pid = 0;
  int place = -1;  // the caller's number from OpenPlace; −1: this process'
};

// The child has a process group of its own and a record; both are there before its program is
// executed. If this process ends first, the child ends too. Call on the thread that outlives the
// child; the thread waits until the program is executed. Precondition: `spec` has its files.
// Errors: kInvalid: no such program, or not one for this user or machine; kUnavailable: no
// processes, no room for the record.
Result<StartedProcess> ExecuteInChild(const ProcessSpec& spec, ProcessGuard& guard);

// Also applies spec.network and spec.mounts. kForbidden: this machine does not allow it.
// kUnavailable: a mount that fails.
Result<StartedProcess> ExecuteInChild(const ProcessSpec& spec, ProcessGuard& guard,
                                      BindSupervisor& binds);

// Executes the program in the namespaces and the root of the running process `beside`. kNotFound:
// it has ended.
Result<StartedProcess> ExecuteBesideProcess(const ProcessSpec& spec, pid_t beside,
                                            ProcessGuard& guard, BindSupervisor& binds);

// Kills and reaps the child of ExecuteInChild, and removes its record.
void Abandon(pid_t pid, const ProcessSpec& spec, ProcessGuard& guard);

}  // namespace berth::local::cluster
