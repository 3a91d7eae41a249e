// cli/signals.h — waiting for the request to stop.
#pragma once

namespace berth::cli {

// Blocks SIGINT and SIGTERM in this thread and those it starts; call before any thread.
void HoldStopSignals();
// Returns when one of them comes, with its number.
int WaitForStopSignal();

}  // namespace berth::cli
