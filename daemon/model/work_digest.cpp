#include "model/work_digest.hpp"

#include <string_view>

#include "model/digest.hpp"
#include "model/spelling.hpp"

namespace coffer::model {

namespace {

void add(std::string& bytes, std::string_view name, std::string_view value) {
  bytes.append(name).append(" ").append(std::to_string(value.size())).append("\n").append(value).append("\n");
}

}  // namespace

std::string workDigest(const Task& task) {
  std::string bytes;
  add(bytes, "base", task.base);
  add(bytes, "candidate", task.candidate);
  add(bytes, "tree", task.tree);
  add(bytes, "diff", task.diff);
  add(bytes, "gate", std::to_string(task.gate.run));
  add(bytes, "review", task.review.digest);
  add(bytes, "review.run", std::to_string(task.review.run));
  add(bytes, "policy.plan", spell(task.policy.plan));
  add(bytes, "policy.command", spell(task.policy.command));
  add(bytes, "policy.risky", spell(task.policy.risky));
  add(bytes, "policy.landing", spell(task.policy.landing));
  return sha256(bytes);
}

}  // namespace coffer::model
