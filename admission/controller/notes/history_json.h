// admission/controller/notes/history_json.h — a ReasonHistory in the annotation
// berth.dev/explanation:
//
//     "history": [{"reason", "message", "cause", "first", "last", "count"}]   in order of "last"
//
// Threads: pure functions. Errors: none; an entry that cannot be read is left out.
#pragma once

#include <string>

#include "admission/workloads/reason_history.h"

namespace berth::admission {

// `explanation` (a JSON object as text, or empty) with the history added, if it IsStory().
std::string WithHistory(const std::string& explanation, const ReasonHistory& history);

void RestoreHistory(const std::string& explanation, ReasonHistory& history);

}  // namespace berth::admission
