// tests/local/apiserver/costs/operation_count.h — the number of operations of a call: the basic
// blocks that it enters, in code that is compiled with -fsanitize-coverage=trace-pc, and the bytes
// that it allocates, 16 for one operation.
//
// The count of a call is the same in every run, on a machine of any load.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>

namespace berth {

std::uint64_t CountOperations(const std::function<void()>& call);

}  // namespace berth
