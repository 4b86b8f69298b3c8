#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/digest.hpp"

namespace coffer::engine {

/// Where everything of ours is. All of it belongs to root and is reached by nobody else: a unit sees a part of it
/// because PID 1 binds that part into it. Names are made of numbers, letters and dashes of ours, so no path here
/// depends on what a user chose.
struct Places {
  std::string state = "/var/lib/cofferdam";
  std::string runtime = "/run/cofferdam";

  [[nodiscard]] std::string database() const { return state + "/cofferd.db"; }
  [[nodiscard]] std::string keys() const { return state + "/keys"; }
  [[nodiscard]] std::string templates() const { return state + "/templates"; }
  /// Outputs of workers, gone when the step that asked for them is over.
  [[nodiscard]] std::string work() const { return state + "/work"; }

  [[nodiscard]] std::string project(std::uint64_t id) const { return state + "/projects/" + std::to_string(id); }
  [[nodiscard]] std::string projectObjects(std::uint64_t id) const { return project(id) + "/store.git/objects"; }
  [[nodiscard]] std::string checkouts(std::uint64_t id) const { return project(id) + "/checkouts"; }

  /// How many bytes each of those takes, since its files are too many to count each time.
  [[nodiscard]] std::string checkoutSizes(std::uint64_t id) const { return project(id) + "/sizes"; }

  [[nodiscard]] std::string task(std::uint64_t id) const { return state + "/tasks/" + std::to_string(id); }
  [[nodiscard]] std::string taskObjects(std::uint64_t id) const { return task(id) + "/store.git/objects"; }
  [[nodiscard]] std::string diffs(std::uint64_t id) const { return task(id) + "/diffs"; }
  [[nodiscard]] std::string transcripts(std::uint64_t id) const { return task(id) + "/transcripts"; }
  [[nodiscard]] std::string logs(std::uint64_t id) const { return task(id) + "/logs"; }

  [[nodiscard]] std::string inputs() const { return runtime + "/in"; }
  [[nodiscard]] std::string input(const std::string& unit) const { return inputs() + "/" + unit; }
  [[nodiscard]] std::string image(const std::string& name) const { return runtime + "/img/" + name; }
  [[nodiscard]] std::string workspace(const std::string& name) const { return runtime + "/ws/" + name; }
  [[nodiscard]] std::string source(const std::string& name) const { return runtime + "/src/" + name; }
  [[nodiscard]] std::string netns(const std::string& name) const { return runtime + "/netns/" + name; }
};

/// The file of a provider's key: named for the URL that it may be sent to.
inline std::string keyFile(std::uint64_t provider, std::string_view baseUrl) {
  const auto digest = model::sha256(baseUrl);
  return std::to_string(provider) + "-" + digest.substr(digest.find(':') + 1, 32) + ".cred";
}

/// Names that coffer-walls and PID 1 know things of a task by.
inline std::string taskImage(std::uint64_t task) { return "t" + std::to_string(task); }
inline std::string outputImage(std::uint64_t task) { return "t" + std::to_string(task) + "-out"; }
inline std::string ownerSlice(std::uint32_t owner) { return "coffer-u" + std::to_string(owner) + ".slice"; }
inline std::string taskSlice(std::uint32_t owner, std::uint64_t task) {
  return "coffer-u" + std::to_string(owner) + "-" + std::to_string(task) + ".slice";
}
inline std::string boxSlice(std::uint32_t owner, std::uint64_t task) {
  return "coffer-u" + std::to_string(owner) + "-" + std::to_string(task) + "-box.slice";
}

}  // namespace coffer::engine
