// tests/webhook/controller/configurations.h — where the API has the webhook configurations.
#pragma once

namespace berth::webhook {

inline constexpr char kMutating[] =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
inline constexpr char kMutatingName[] = "kueue-mutating-webhook-configuration";
inline constexpr char kValidating[] =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
inline constexpr char kValidatingName[] = "kueue-validating-webhook-configuration";

}  // namespace berth::webhook
