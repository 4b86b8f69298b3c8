#include "workers/resolver/names.hpp"

#include <algorithm>

#include "model/limits.hpp"

namespace coffer::resolver {

void Names::add(const std::string& name) {
  if (const auto known = counts_.find(name); known != counts_.end())
    ++known->second;
  else if (counts_.size() < limits::kResolverNames)
    counts_.emplace(name, 1);
  else
    ++more_;
}

Records Names::records() const {
  Records records;
  for (const auto& [name, count] : counts_) {
    records.add("name", name);
    records.add("count", count);
  }
  records.add("more", more_);
  records.add("dropped", dropped_);
  return records;
}

void Names::restore(const Records& records) {
  std::string name;
  for (const auto& record : records.list()) {
    if (record.key == "name") {
      name = record.value;
    } else if (record.key == "count" && !name.empty() && counts_.size() < limits::kResolverNames) {
      Records one;
      one.add("count", record.value);
      counts_[name] = one.number("count");
      name.clear();
    }
  }
  more_ = records.number("more");
  dropped_ = records.number("dropped");
}

bool Rate::take(std::uint64_t now) {
  constexpr std::uint64_t kOne = 1'000'000;
  constexpr std::uint64_t kFull = limits::kResolverBurst * kOne;
  const auto passed = begun_ ? std::min<std::uint64_t>(now - last_, 60 * kOne) : 0;
  credit_ = begun_ ? std::min(kFull, credit_ + passed * limits::kResolverQueriesPerSecond) : kFull;
  begun_ = true;
  last_ = now;
  if (credit_ < kOne) return false;
  credit_ -= kOne;
  return true;
}

}  // namespace coffer::resolver
