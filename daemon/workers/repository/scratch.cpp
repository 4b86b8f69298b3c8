#include "workers/repository/scratch.hpp"

#include <cstdlib>
#include <filesystem>

namespace coffer::repository {

Scratch::Scratch() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/repository-XXXXXX";
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace coffer::repository
