#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/error.hpp"
#include "engine/places.hpp"
#include "sandbox/sealed.hpp"

namespace coffer::engine {

/// One file of a unit's input; the name may have folders before it ("files/opencode.json"). A name that ends with a
/// slash is an empty directory.
struct InputFile {
  std::string name;
  std::string bytes;
};

/// Writes what a unit will find in its input directory (/in of a worker, /task/in of an agent), with the passwd and
/// group files of its identity, and empty directories (files where the name does not end with a slash) where something
/// is mounted below it. Written again from the start when it exists: a step that is done again has the same input.
/// Returns the directory.
std::expected<std::string, Error> writeInput(const Places& places, const std::string& unit,
                                             const sandbox::Identity& identity, const std::vector<InputFile>& files,
                                             const std::vector<std::string>& mountPoints = {});

/// Makes the output directory of a worker, owned by its uid. An old one of that name is removed first: what a cut-off
/// run left in it is nobody's result. `mountPoints` are directories made in it. Returns the path.
std::expected<std::string, Error> makeOutput(const Places& places, const std::string& unit, std::uint32_t uid,
                                             const std::vector<std::string>& mountPoints = {});

/// Removes both.
std::expected<void, Error> removeInput(const Places& places, const std::string& unit);
std::expected<void, Error> removeOutput(const Places& places, const std::string& unit);

}  // namespace coffer::engine
