// view/screens/setup_questions.h — asks for a first set-up: teams, CPUs, GPUs, borrowing, capacity.
//
//     CPUs of all teams together [16]: many
//       cpu: "many" is no amount above 0: write a quantity such as 8 or 500m
//     CPUs of all teams together [16]:
//
// An empty line takes the answer in brackets. Questions that other answers settle are left out.
//
// Bounds: kMostAnswers answers to one question, kMostOfAnswer bytes each.
// Threads: one. Errors: kInvalid: the input ends, or no answer to a question is a valid one.
#pragma once

#include <cstddef>
#include <istream>
#include <ostream>

#include "base/result.h"
#include "view/screens/setup_options.h"

namespace berth::view {

inline constexpr int kMostAnswers = 3;
inline constexpr std::size_t kMostOfAnswer = 10'000;

Result<SetupOptions> AskSetup(std::istream& in, std::ostream& out);

}  // namespace berth::view
