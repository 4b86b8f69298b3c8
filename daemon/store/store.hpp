#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "store/conversations.hpp"
#include "store/database.hpp"
#include "store/findings.hpp"
#include "store/owners.hpp"
#include "store/projects.hpp"
#include "store/providers.hpp"
#include "store/refusals.hpp"
#include "store/requests.hpp"
#include "store/runs.hpp"
#include "store/tasks.hpp"
#include "store/texts.hpp"
#include "store/uids.hpp"

namespace coffer::store {

/// Everything cofferd remembers, in one SQLite file. For one thread. Each call is one transaction, on the disk when it
/// returns; several become one within a transaction() of the caller's.
class Store {
 public:
  /// Opens or makes the file and brings its schema up. Errors: Unsupported for a file of a newer cofferd or of another
  /// program (not touched), NoSpace, Internal.
  static std::expected<std::unique_ptr<Store>, Error> open(const std::string& path, std::uint64_t now);

  /// Groups calls: nothing of them counts until finish(), and an error of one undoes all.
  Database::Transaction transaction() { return Database::Transaction(*database_); }

  Tasks& tasks() { return tasks_; }
  Texts& texts() { return texts_; }
  Runs& runs() { return runs_; }
  Findings& findings() { return findings_; }
  Refusals& refusals() { return refusals_; }
  Conversations& conversations() { return conversations_; }
  Uids& uids() { return uids_; }
  Projects& projects() { return projects_; }
  Providers& providers() { return providers_; }
  Requests& requests() { return requests_; }
  Owners& owners() { return owners_; }

  /// For tests and for what looks at the file as a whole.
  Database& database() { return *database_; }

 private:
  Store(std::unique_ptr<Database> database, const std::string& directory);

  std::unique_ptr<Database> database_;
  Tasks tasks_;
  Texts texts_;
  Runs runs_;
  Findings findings_;
  Refusals refusals_;
  Conversations conversations_;
  Uids uids_;
  Projects projects_;
  Providers providers_;
  Requests requests_;
  Owners owners_;
};

}  // namespace coffer::store
