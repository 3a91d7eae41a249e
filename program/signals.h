// program/signals.h — waits for SIGINT or SIGTERM, which stop a server.
#pragma once

namespace berth::program {

// Blocks both signals in this thread and its future threads, and ignores SIGPIPE: a server goes on
// when the reader of its output ends (`berth up | head`). Call before any thread starts. Programs
// that the process starts get SIGPIPE's default back (local/cluster/processes/process_fork.cc,
// kube/client/exec_plugin.cc).
void HoldStopSignals();
// Returns the number of the first signal that comes.
int WaitForStopSignal();

}  // namespace berth::program
