#include "workers/repository/landing.hpp"
#include "workers/repository/verbs.hpp"

namespace coffer::repository {

workers::Outcome land(const workers::Job& job) {
  // What it writes is the owner's: as git would make it for most people.
  ::umask(022);
  auto source = Source::open(job.in + "/source", false);
  if (!source) return std::unexpected(source.error());
  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  return Landing(job, std::move(*source), std::move(*git)).run();
}

}  // namespace coffer::repository
