// coffer-repository: the sealed worker for Git objects. One verb a run; see verbs.hpp.

#include <array>

#include "workers/repository/verbs.hpp"

int main(int argc, char** argv) {
  using namespace coffer;
  constexpr auto kVerbs = std::to_array<workers::Verb>({{"export", repository::exportObjects},
                                                        {"import", repository::importObjects},
                                                        {"candidate", repository::makeCandidate},
                                                        {"checkout", repository::checkout},
                                                        {"diff", repository::diff},
                                                        {"pack", repository::pack},
                                                        {"land", repository::land}});
  return workers::runWorker(argc, argv, kVerbs, limits::kRepositorySeconds);
}
