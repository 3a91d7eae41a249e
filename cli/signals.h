// cli/signals.h — waits for SIGINT or SIGTERM.
#pragma once

namespace berth::cli {

// Blocks both signals in this thread and its future threads; call before any thread starts.
void HoldStopSignals();
// Returns the number of the first signal that comes.
int WaitForStopSignal();

}  // namespace berth::cli
