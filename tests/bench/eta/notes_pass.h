// tests/bench/eta/notes_pass.h — the time of `berth eta --all` from forecasts of the controller.
#pragma once

namespace berth::bench {

// Prints the best of some runs with so many waiting Workloads, without the reading of them.
void PrintNotesPass(int pending);

}  // namespace berth::bench
