#include "bench.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

namespace coffer::repository {
namespace fs = std::filesystem;

Bench::Bench() {
  std::string name = "/tmp/repository-test-XXXXXX";
  if (::mkdtemp(name.data()) != nullptr) top_ = name;
  fs::create_directories(top_ + "/home");
  write("home/.gitconfig",
        "[user]\n\tname = Ada Person\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = "
        "false\n"
        "[protocol \"file\"]\n\tallow = always\n");
  sh("git init -q repo && cd repo && printf 'one\\n' >file && mkdir sub && printf 'two\\n' >sub/file && ln -s file "
     "link && "
     "printf '#!/bin/sh\\n' >tool && chmod +x tool && git add -A && git commit -q -m 'First' && printf 'three\\n' "
     ">>file && "
     "git commit -q -a -m 'Second'");
}

Bench::~Bench() {
  std::error_code ignored;
  if (!top_.empty()) fs::remove_all(top_, ignored);
}

int Bench::status(const std::string& script) {
  write("script", script);
  const std::string line =
      "cd '" + top_ + "' && env -i PATH=/usr/bin:/bin HOME='" + top_ + "/home' TOP='" + top_ +
      "' GIT_AUTHOR_DATE='1700000000 +0100' GIT_COMMITTER_DATE='1700000000 +0100' sh -e script >output 2>errors";
  const int code = std::system(line.c_str());
  return WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
}

std::string Bench::sh(const std::string& script) {
  EXPECT_EQ(status(script), 0) << script << "\n" << read("errors");
  auto text = read("output");
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

bool Bench::exists(const std::string& name) const { return fs::exists(fs::symlink_status(at(name))); }

std::string Bench::read(const std::string& name) const {
  std::ifstream file(name.starts_with('/') ? name : at(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Bench::write(const std::string& name, std::string_view text) const {
  std::ofstream file(at(name), std::ios::binary | std::ios::trunc);
  file << text;
}

Records Bench::worker(const std::string& verb, const Records& request, const std::string& options) {
  out_ = at("out-" + verb + "-" + std::to_string(++runs_));
  fs::create_directories(out_);
  fs::create_directories(at("in"));
  write("in/request", request.serialize());
  const std::string line = "env -i PATH=/nonexistent HOME='" + top_ + "/home' '" COFFER_REPOSITORY "' " + verb +
                           " --in '" + at("in") + "' --out '" + out_ + "' " + options + " 2>'" + at("fault") + "'";
  const int code = std::system(line.c_str());
  Records report;
  if (code != 0) {
    report.add("fault", read("fault"));
    return report;
  }
  auto parsed = Records::parse(read(out_ + "/report"));
  EXPECT_TRUE(parsed);
  return parsed ? *parsed : report;
}

void Bench::inputs(std::initializer_list<std::string> links) {
  fs::remove_all(at("in"));
  fs::create_directories(at("in"));
  for (const auto& link : links) {
    const auto equals = link.find('=');
    const auto target = link.substr(equals + 1);
    fs::create_directory_symlink(target.starts_with('/') ? target : at(target), at("in/" + link.substr(0, equals)));
  }
}

std::string Bench::snapshot(const std::string& repository) {
  inputs({"source=" + repository});
  const auto exported = worker("export", {});
  EXPECT_FALSE(exported.has("refused")) << exported.get("message");
  EXPECT_FALSE(exported.has("fault")) << exported.get("fault");
  const std::string commit(exported.get("commit"));
  inputs({"pack=" + out()});
  const auto imported = worker("import", coffer::repository::request({{"commit", commit}}));
  EXPECT_EQ(imported.get("commit"), commit) << imported.get("message") << imported.get("fault");
  fs::create_directories(at("base"));
  fs::remove_all(at("base/objects"));
  fs::rename(out() + "/objects", at("base/objects"));
  return commit;
}

Records request(std::initializer_list<std::pair<std::string, std::string>> records) {
  Records result;
  for (const auto& [key, value] : records)
    result.add(key, value);
  return result;
}

}  // namespace coffer::repository
