#include "workers/repository/notes.hpp"

#include "workers/repository/source.hpp"

namespace coffer::repository {

std::expected<std::string, Error> addNote(Git& git, const std::string& notes, const Note& note) {
  const std::string ref(kNotesRef);
  if (!notes.empty())
    if (const auto set = git.output({"update-ref", ref, notes}); !set) return std::unexpected(set.error());
  const std::string option = "--ref=" + ref;
  const auto there = git.run({.arguments = {"notes", option, "list", note.commit}});
  if (!there) return std::unexpected(there.error());
  if (there->ok()) return std::string();
  // git knows how the notes are laid out; its commit is then made again with the person's name and a time that stays.
  const auto added = git.output(
      {"-c", "user.name=coffer", "-c", "user.email=coffer", "notes", option, "add", "-F", "-", note.commit}, note.text);
  if (!added) return std::unexpected(added.error());
  const auto tree = git.output({"rev-parse", "--verify", ref + "^{tree}"});
  if (!tree) return std::unexpected(tree.error());
  std::string commit = "tree " + tree->substr(0, 40) + "\n";
  if (!notes.empty()) commit += "parent " + notes + "\n";
  const std::string person = note.who + " " + note.when;
  commit.append("author ").append(person).append("\ncommitter ").append(person).append("\n\nNotes added by coffer\n");
  const auto written = git.output({"hash-object", "-t", "commit", "-w", "--stdin"}, commit);
  if (!written) return std::unexpected(written.error());
  return written->substr(0, 40);
}

}  // namespace coffer::repository
