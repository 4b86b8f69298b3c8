#include "agents/flow_file.hpp"

#include <gtest/gtest.h>

#include "agents/data_set.hpp"

namespace coffer::agents {
namespace {

TEST(FlowFile, TheShippedFilesAreTheBuiltInFlows) {
  DataSet<model::Flow> flows({std::string(SOURCE_TREE) + "/daemon/data/flows"}, ".toml", readFlow);
  flows.reload();
  EXPECT_TRUE(flows.problems().empty());
  EXPECT_EQ(flows.all().size(), 4U);
  EXPECT_EQ(flows.all().at("review"), (model::Flow{"review", "A", "B", "C", true, false}));
  EXPECT_EQ(flows.all().at("single"), (model::Flow{"single", "A", "A", "", false, true}));
  EXPECT_EQ(flows.all().at("executor"), (model::Flow{"executor", "A", "B", "", false, true}));
  EXPECT_EQ(flows.all().at("supervisor"), (model::Flow{"supervisor", "A", "B", "A", false, false}));
}

std::string fault(const std::string& text) {
  const auto flow = readFlow(text, "x", "x.toml");
  return flow ? "" : flow.error();
}

TEST(FlowFile, RefusesAReviewerThatIsTheWriter) {
  EXPECT_EQ(fault("title='t'\n[conversations]\nplanner='A'\nwriter='B'\nreviewer='B'\n[review]\nby='same'\n"),
            "x.toml:5: the reviewer cannot be the writer's conversation; use self-review");
}

TEST(FlowFile, RefusesWhatDoesNotFitTogether) {
  EXPECT_NE(fault("title='t'\n[conversations]\nplanner='A'\nwriter='B'\n[review]\nby='fresh'\n"), "");
  EXPECT_NE(fault("title='t'\n[conversations]\nplanner='A'\nwriter='B'\nreviewer='C'\n[review]\nby='none'\n"), "");
  EXPECT_NE(fault("title='t'\n[conversations]\nplanner='A'\nwriter='B'\nreviewer='A'\n[review]\nby='fresh'\n"), "");
  EXPECT_NE(fault("title='t'\n[conversations]\nplanner='AA'\nwriter='B'\n[review]\nby='none'\n"), "");
  EXPECT_NE(fault("title='t'\n[conversations]\nplanner='A'\nwriter='B'\nauditor='C'\n[review]\nby='none'\n"), "");
}

}  // namespace
}  // namespace coffer::agents
