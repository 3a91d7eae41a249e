// local/apiserver/registry/strategies/stored_checks.h — the strategy of kinds that the embedded API
// stores and validates and that no controller of `berth up` acts on, and rules that they share.
//
// Pure. Source: Kubernetes 1.36 validation, restated; clients compare the texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/registry/strategy.h"

namespace berth::local {

// The rules of one kind.
struct StoredRules {
  // Checks every written object.
  std::vector<Cause> (*check)(const Json& object) = nullptr;
  // Checks every update, beside `check`; null: no check.
  void (*check_change)(const Json& object, const Json& old_object,
                       std::vector<Cause>& causes) = nullptr;
};

// Applies StoredRules to creations and to updates of the main endpoint.
class StoredStrategy final : public Strategy {
 public:
  explicit StoredStrategy(StoredRules rules) : rules_(rules) {}
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override;
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override;

 private:
  StoredRules rules_;
};

// Appends one InvalidError of `value` for each text in `errors`.
void AppendInvalid(const std::string& path, const Json& value,
                   const std::vector<std::string>& errors, std::vector<Cause>& causes);

// `field is immutable` where the values of FIELD differ.
void CheckImmutable(const Json& object, const Json& old_object, std::string_view field,
                    std::vector<Cause>& causes);

// `selector`: a metav1.LabelSelector, or null.
void CheckLabelSelector(const Json* selector, const std::string& path, std::vector<Cause>& causes);

// {kind, name}: both required, path segments.
void CheckKindAndName(const Json& reference, const std::string& path, std::vector<Cause>& causes);

// CheckKindAndName, and apiGroup?, a subdomain.
void CheckReference(const Json& reference, const std::string& path, std::vector<Cause>& causes);

// Errors of one text in Kubernetes' words; none: valid.
std::vector<std::string> PortNumberErrors(const Json& number);
std::vector<std::string> PortNameErrors(std::string_view name);
std::vector<std::string> WildcardDomainErrors(std::string_view host);  // "*.example.com"

// An IPv4 or IPv6 address with a prefix length.
struct AddressBlock {
  std::vector<unsigned char> address;  // 4 or 16 bytes
  int prefix_length = 0;
};
bool IsIpAddress(std::string_view text);
// Appends the errors of `text`; returns false if it is not a block of addresses.
bool CheckAddressBlock(std::string_view text, const std::string& path, AddressBlock& block,
                       std::vector<Cause>& causes);
// Whether `inner` is a part of `outer` and smaller.
bool IsStrictPart(const AddressBlock& outer, const AddressBlock& inner);

}  // namespace berth::local
