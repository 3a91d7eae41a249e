// provisioning/ways/lessons.h — what a check learns from the outcome of a request, and from the
// outcomes of others (stock.h).
//
//     request is granted, fails, or is given up ─▶ lesson, to record before its consequence
//     a later request for the same machines is granted ─▶ the request has lost its place
//
// Units: seconds, pods. Threads: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>

#include "api/provisioning_request.h"
#include "base/clock.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// The outcome of the request, which ended at `at`; an empty reason means that the nodes came.
// nullopt: the stock memory knows the outcome, or the reason says nothing about the stock.
std::optional<StockLesson> LessonOf(const CheckSituation& check,
                                    const api::ProvisioningRequest& request,
                                    const std::string& reason, WallTime at);

// The outcome that the request's condition tells; nullopt: there is no outcome, the stock memory
// knows it, or the check is Ready and the outcome was recorded when the check became Ready.
std::optional<StockLesson> LessonFrom(const CheckSituation& check,
                                      const api::ProvisioningRequest& request);

// Whether a later request for the same machines was granted while this one waits: the step is asked
// for again, with the quota that is held. Otherwise the move gets the time of the next decision.
bool AskAgainIfOvertaken(const CheckSituation& check, const api::ProvisioningRequest& request,
                         Move& move);

}  // namespace berth::provisioning
