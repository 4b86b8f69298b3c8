#pragma once

namespace coffer::model {

/// Who decides at one point: the person, nobody, or (landing only) nobody and onto a branch of its own.
enum class Decides { Ask, Auto, Branch };

/// Where a person is asked. All Ask is a workbench, all Auto an unattended queue.
struct Policy {
  Decides plan = Decides::Ask;
  Decides command = Decides::Ask;
  Decides risky = Decides::Ask;
  Decides landing = Decides::Ask;
  bool operator==(const Policy&) const = default;
};

}  // namespace coffer::model
