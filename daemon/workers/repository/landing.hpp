#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "workers/repository/branch_move.hpp"
#include "workers/repository/git.hpp"
#include "workers/repository/source.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/work_tree.hpp"

namespace coffer::repository {

/// One landing into an owner's repository. The request holds all it is about to write, so a run that was killed
/// anywhere is finished, or put back, by the same request again. Order: objects; `index.lock` with our mark; files;
/// index; branch; lock away. The mark in the lock says that files may be half way; without it no file has been touched.
class Landing {
 public:
  Landing(const workers::Job& job, Source source, Git git);
  [[nodiscard]] workers::Outcome run();

 private:
  using Done = std::expected<void, Error>;
  [[nodiscard]] Done readRequest();
  [[nodiscard]] Done readState();
  /// What forbids the landing before anything is written.
  [[nodiscard]] Done checkBranch();
  [[nodiscard]] Done viewObjects();
  /// Whether the branch is somewhere behind the new commit: it landed in a run before, and the person went on from it.
  [[nodiscard]] std::expected<bool, Error> isOvertaken() const;
  [[nodiscard]] Done checkObjects();
  [[nodiscard]] Done installObjects();
  [[nodiscard]] Done makeStage();
  [[nodiscard]] Done reserve();
  void release() const;
  [[nodiscard]] Done stageSide(Side side);
  [[nodiscard]] Done lock();
  [[nodiscard]] Done checkFiles();
  [[nodiscard]] Done switchIndex(const std::string& from, const std::string& to);
  [[nodiscard]] Done landFiles();
  /// Files and index as they were; the refusal that led here stays the answer.
  [[nodiscard]] std::unexpected<Error> putBack(Error error);
  void cleanUp();
  /// What was decided about the commit, as a note on it. The commit has landed whatever becomes of that.
  [[nodiscard]] Done note();
  void noteTo(Records& report);
  /// What a run that finds the branch moved already still has to do.
  [[nodiscard]] workers::Outcome again(Records report);
  [[nodiscard]] Done install(const std::string& from, const std::string& name);
  [[nodiscard]] std::string mark() const;

  const workers::Job& job_;
  Source source_;
  Git git_;
  Writes writes_;
  BranchMove move_;
  BranchMove notes_;
  std::string pack_;
  std::string stage_;      ///< in the own git directory: files of both sides, lock and index before they are in place
  std::string ref_stage_;  ///< in the common one: branches before they are in place; the same where that is the same
  std::string spare_;      ///< see WorkTree; beside the files, since the git directory is another mount
  bool create_ = false;
  bool checked_out_ = false;
  bool ours_ = false;     ///< index.lock is this landing's own, from a run before
  bool resumed_ = false;  ///< there was a run before
  bool locked_ = false;
  bool touched_ = false;  ///< files or index may be half way
  bool moved_ = false;    ///< the branch was at the new commit already
  std::vector<Change> changes_;
};

}  // namespace coffer::repository
