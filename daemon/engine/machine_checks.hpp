#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "dbus/error.hpp"
#include "engine/admission.hpp"
#include "engine/check.hpp"

/// What each thing that was found on the machine means, as pure functions: nothing here looks at the machine. An error
/// is that something could not be looked at.
namespace coffer::engine {

/// Linux 6.9: tables of nftables that are owned and persist (walls/host_table.hpp).
Check kernelCheck(std::string_view release);
/// systemd 257: PrivatePIDs=. "257.13-1~deb13u1" as PID 1 says it.
Check systemdCheck(const std::expected<std::string, Error>& version);
/// `accepted`: an administrator's accept-missing names it.
Check controllerCheck(const std::string& controller, bool missing, bool accepted);
/// Whether names that are announced in /run/userdb are found: /etc/nsswitch.conf as text, and the module.
Check nameServiceCheck(std::string_view nsswitch, bool module);

// What coffer-walls says when it tries something: nothing when it can be had.
Check wallsCheck(const std::expected<void, Error>& answered);
Check loopCheck(const std::optional<Error>& why);
Check tableCheck(const std::optional<Error>& why);
Check userNamespaceCheck(const std::optional<Error>& why);
/// A warning at most: no profile that is there uses it yet.
Check tproxyCheck(const std::optional<Error>& why);

Check polkitCheck(const std::expected<std::string, Error>& version);
/// `synchronised`: "true" or "false". Times in microseconds of CLOCK_REALTIME; `newest` of the newest stored event, 0
/// for none.
Check timeCheck(const std::expected<std::string, Error>& synchronised, std::uint64_t now, std::uint64_t newest);
Check diskCheck(const DiskSpace& disk, const AdmissionLimits& limits);
/// What one user's tasks and projects have on it.
Check shareCheck(const DiskSpace& disk, const UserSpace& user, const AdmissionLimits& limits);

/// The one with that number, from 1 on; an empty problem is that there is none.
Check configurationCheck(std::size_t number, const std::string& problem);

}  // namespace coffer::engine
