#pragma once

#include <string_view>

namespace coffer::gateway {

/// True for an address that a provider on the internet can have. Everything of the IANA special-purpose registries
/// (private, loopback, link-local, shared, documentation, benchmark, multicast, mapped, tunnelled) is not, nor is what
/// is no address. Source: IANA IPv4 and IPv6 Special-Purpose Address Registries.
bool isPublicAddress(std::string_view address);

}  // namespace coffer::gateway
