// base/architecture.h — the processor for which the program is built.
//
// Threads: constants. Errors: none.
#pragma once

namespace berth {

// In the words of Kubernetes (kubernetes.io/arch), of Go and of OCI images. "unknown": Berth has no
// builds for the processor.
#if defined(__x86_64__)
inline constexpr char kArchitecture[] = "amd64";
inline constexpr char kPlatform[] = "linux/amd64";
#elif defined(__aarch64__)
inline constexpr char kArchitecture[] = "arm64";
inline constexpr char kPlatform[] = "linux/arm64";
#else
inline constexpr char kArchitecture[] = "unknown";
inline constexpr char kPlatform[] = "linux/unknown";
#endif

}  // namespace berth
