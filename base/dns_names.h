// base/dns_names.h — the characters of DNS names, as Kubernetes restricts them (RFC 1123).
//
// Lengths are the caller's: 63 bytes for a label, 253 for a subdomain.
//
// Threads: any. Errors: none.
// Source: Kubernetes apimachinery pkg/util/validation.
#pragma once

#include <string_view>

namespace berth {

// "a-1": lower-case letters, digits and '-'; begins and ends with a letter or a digit.
bool IsDnsLabel(std::string_view text);
// "a-1.example": labels, divided by '.'.
bool IsDnsSubdomain(std::string_view text);

}  // namespace berth
