#include "workers/collector/exchange.hpp"

#include <array>

#include "model/limits.hpp"
#include "os/beneath.hpp"

namespace coffer::collector {
namespace {

/// In the order they count when there is too much: a question comes before everything else.
constexpr std::array kNames =
    std::to_array<std::string_view>({"question.md", "plan.md", "review.json", "answer.md", "verify-proposal.md",
                                     "history-request.md", "criteria.md", "red.md"});

}  // namespace

Exchange Exchange::read(const std::string& folder) {
  Exchange result;
  const auto directory = os::openDirectory(folder);
  if (!directory) return result;
  std::size_t total = 0;
  for (const auto name : kNames) {
    auto bytes = os::readBeneath(directory->get(), name, limits::kTextBytes);
    if (!bytes) {
      if (bytes.error().code == ErrorCode::NotFound) continue;
      result.refusals_.emplace(
          name, std::string(name) + (bytes.error().code == ErrorCode::TooLarge
                                         ? " is longer than " + std::to_string(limits::kTextBytes) + " bytes"
                                         : " is not a plain file with one link"));
      continue;
    }
    total += bytes->size();
    if (total > limits::kExchangeBytes) {
      result.refusals_.emplace(name, std::string(name) + " is too much: the files of one turn are longer than " +
                                         std::to_string(limits::kExchangeBytes) + " bytes");
      continue;
    }
    result.files_.emplace(name, std::move(*bytes));
  }
  return result;
}

const std::string* Exchange::find(std::string_view name) const {
  const auto at = files_.find(name);
  return at != files_.end() ? &at->second : nullptr;
}

std::string_view Exchange::refusal(std::string_view name) const {
  const auto at = refusals_.find(name);
  return at != refusals_.end() ? std::string_view(at->second) : std::string_view();
}

}  // namespace coffer::collector
