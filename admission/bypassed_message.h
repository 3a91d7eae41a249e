// admission/bypassed_message.h — the message of the condition QuotaReserved=False for a workload
// that was parked without an attempt of its own, because a workload of the same shape got no quota.
//
// Source: Kueue pkg/scheduler; clients compare the text.
#pragma once

namespace berth::admission {

inline constexpr char kBypassedMessage[] =
    "Bypassed scheduling evaluation because an equivalent workload recently failed";

}  // namespace berth::admission
