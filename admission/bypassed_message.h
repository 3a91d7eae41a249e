// admission/bypassed_message.h — the message of QuotaReserved=False of a workload that was parked
// without an attempt of its own, because an equal one got nothing.
//
// Source: Kueue pkg/scheduler; clients compare the text.
#pragma once

namespace berth::admission {

inline constexpr char kBypassedMessage[] =
    "Bypassed scheduling evaluation because an equivalent workload recently failed";

}  // namespace berth::admission
