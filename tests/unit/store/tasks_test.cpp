#include "fixture.hpp"
#include "model/limits.hpp"

namespace coffer::store {
namespace {

class TaskStore : public StoreTest {};

TEST_F(TaskStore, ATaskIsTheSameAfterAReopen) {
  auto task = planReady(make());
  task = tell(task, model::PlanAccepted{task.plan});
  reopen();
  EXPECT_EQ(*store_->tasks().get(task.id), task);
  EXPECT_EQ(store_->tasks().live()->size(), 1U);
  EXPECT_EQ(*store_->tasks().openSteps(), (std::vector<OpenStep>{{task.id, "coffer-1-0-writer-1", "turn"}}));
  EXPECT_EQ(store_->tasks().get(99).error().code, ErrorCode::UnknownObject);
}

TEST_F(TaskStore, IdsAreNeverGivenTwice) {
  EXPECT_EQ(*store_->tasks().newId(), 1U);
  reopen();
  EXPECT_EQ(*store_->tasks().newId(), 2U);
}

TEST_F(TaskStore, SequencesRiseOverAllTasksAndEventsComeInOrder) {
  const auto first = make();
  const auto second = make(1001);
  EXPECT_GT(second.sequence, first.sequence);
  EXPECT_EQ(*store_->tasks().lastSequence(), second.sequence);
  const auto all = *store_->tasks().events(0, 100, {}, {});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].event.type, "created");
  EXPECT_EQ(all[0].event.number("owner"), 1000);
  EXPECT_EQ(store_->tasks().events(all[0].event.sequence, 1, {}, {})->front().event.type, "step-opened");
  EXPECT_EQ(store_->tasks().events(0, 100, 1001, {})->front().task, second.id);
  EXPECT_EQ(store_->tasks().events(0, 100, {}, second.id)->size(), 2U);
  EXPECT_TRUE(store_->tasks().events(0, 100, 1000, second.id)->empty()) << "another owner's";
}

TEST_F(TaskStore, AnAppendToATaskThatHasChangedMeanwhileIsRefused) {
  const auto task = planReady(make());
  const auto late = decided(task, model::Replied{model::sha256("reply")});
  tell(task, model::PlanAccepted{task.plan});
  const auto refused = store_->tasks().append(task, late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Stale);
  EXPECT_EQ(store_->tasks().get(task.id)->state, model::State::Writing);
}

TEST_F(TaskStore, TheSameRequestAgainGetsTheSameAnswerAndHasNoSecondEffect) {
  const auto task = planReady(make());
  auto what = decided(task, model::Replied{model::sha256("reply")});
  what.request = {.uid = 1000, .id = "r1", .operation = "Reply 1", .answer = "first", .at = 5};
  const auto first = store_->tasks().append(task, what);
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->earlier);
  what.request->answer = "second";
  const auto again = store_->tasks().append(task, what);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->earlier, "first");
  EXPECT_EQ(*store_->tasks().lastSequence(), first->task.sequence);

  what.request->operation = "Cancel 1";
  EXPECT_EQ(store_->tasks().append(task, what).error().code, ErrorCode::InvalidArgument);
  what.request->uid = 1001;
  EXPECT_EQ(store_->tasks().append(task, what).error().code, ErrorCode::Stale) << "another caller's id is another id";
  EXPECT_FALSE(*store_->requests().find(1001, "r1", "Cancel 1")) << "what was refused is not kept";
}

TEST_F(TaskStore, AnswersAreKeptForATimeAndSoManyOfAUser) {
  auto& requests = store_->requests();
  const auto keep = [&](std::uint32_t uid, std::uint64_t number, std::uint64_t at) {
    return requests.keep({uid, "r" + std::to_string(number), "Reply 1", "", at});
  };
  const std::uint64_t now = 2 * limits::kAnswerTime;
  ASSERT_TRUE(keep(1000, 0, 1));
  ASSERT_TRUE(keep(1001, 0, now));
  EXPECT_FALSE(*requests.find(1000, "r0", "Reply 1")) << "too old";
  auto transaction = store_->transaction();
  for (std::uint64_t number = 1; number <= limits::kAnswersPerUser + 1; ++number)
    ASSERT_TRUE(keep(1000, number, now + number));
  ASSERT_TRUE(transaction.finish());
  EXPECT_FALSE(*requests.find(1000, "r1", "Reply 1")) << "one too many";
  EXPECT_TRUE(*requests.find(1000, "r2", "Reply 1"));
  EXPECT_TRUE(*requests.find(1001, "r0", "Reply 1")) << "another user's are not touched";
  ASSERT_TRUE(requests.drop(1000, "Reply 1", ""));
  EXPECT_FALSE(*requests.find(1000, "r2", "Reply 1"));
  EXPECT_TRUE(*requests.find(1001, "r0", "Reply 1"));
}

TEST_F(TaskStore, NothingOfAnAppendIsKeptWhenOnePartIsRefused) {
  const auto task = planReady(make());
  const auto before = *store_->tasks().lastSequence();
  auto what = decided(task, model::PlanAccepted{task.plan});
  what.texts = {"kept?", std::string(limits::kTextBytes + 1, 'x')};
  EXPECT_EQ(store_->tasks().append(task, what).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(*store_->tasks().lastSequence(), before);
  EXPECT_EQ(*store_->tasks().get(task.id), task);
  EXPECT_EQ(store_->texts().read(model::sha256("kept?")).error().code, ErrorCode::NotFound);
}

TEST_F(TaskStore, BytesThatAreNoTextBecomeTextBeforeTheyCount) {
  auto fact = created(*store_->tasks().newId());
  fact.title = std::string("a\0b\xff\"\\\n", 7);
  const auto task = tell({}, fact);
  EXPECT_EQ(task.title, "a\uFFFDb\uFFFD\"\\\n");
  EXPECT_EQ(*store_->tasks().get(task.id), task);
}

TEST_F(TaskStore, ProjectionsMadeAgainAreTheSame) {
  auto first = planReady(make());
  first = tell(first, model::PlanAccepted{first.plan});
  auto second = tell(make(1001), model::Cancelled{});
  second = tell(second, model::CleanedUp{second.step->name});
  const auto rows = *store_->tasks().list({}, 0, 10);
  const auto steps = *store_->tasks().openSteps();
  store_->database().script("UPDATE tasks SET state = 'done', title = 'x'; DELETE FROM open_steps");
  ASSERT_TRUE(store_->tasks().rebuildProjections());
  EXPECT_EQ(*store_->tasks().list({}, 0, 10), rows);
  EXPECT_EQ(*store_->tasks().openSteps(), steps);
}

TEST_F(TaskStore, ListsByOwnerStateAndCursor) {
  const auto first = make();
  auto second = planReady(make());
  const auto third = make(1001);
  const auto ids = [&](const TaskFilter& filter, std::uint64_t cursor = 0, std::uint32_t limit = 10) {
    std::vector<std::uint64_t> found;
    const auto rows = *store_->tasks().list(filter, cursor, limit);
    for (const auto& row : rows)
      found.push_back(row.id);
    return found;
  };
  using Ids = std::vector<std::uint64_t>;
  EXPECT_EQ(ids({}), (Ids{third.id, second.id, first.id}));
  EXPECT_EQ(ids({}, 0, 2), (Ids{third.id, second.id}));
  EXPECT_EQ(ids({}, second.id, 2), (Ids{first.id}));
  EXPECT_EQ(ids({.owner = 1000}), (Ids{second.id, first.id}));
  EXPECT_EQ(ids({.states = {"plan-ready", "ready"}}), (Ids{second.id}));
  EXPECT_EQ(ids({.states = {"plan"}}), Ids{});
  EXPECT_EQ(ids({.needsPerson = true}), (Ids{second.id}));
  EXPECT_EQ(ids({.project = 2}), Ids{});
  second = tell(second, model::Cancelled{});
  EXPECT_EQ(ids({.ended = false}), (Ids{third.id, first.id}));
}

TEST_F(TaskStore, AnErasedTaskKeepsWhatBecameOfItAndNothingElse) {
  auto task = planReady(make());
  ASSERT_TRUE(store_->texts().keep(task.id, "secret plan"));
  const auto conversation = *store_->conversations().get(task.id, "A", 1);
  RunStart start;
  start.task = task.id;
  start.unit = start.step = "coffer-1-0-planner-1";
  start.conversation = conversation.id;
  const auto run = *store_->runs().begin(start);
  ASSERT_TRUE(store_->runs().end({.run = run, .ended = 2, .text = "secret words"}));
  ASSERT_TRUE(store_->findings().add({.task = task.id, .run = run, .id = "F1"}));
  task = tell(task, model::Cancelled{});
  task = tell(task, model::CleanedUp{task.step->name});
  task = tell(task, model::Deleted{});
  // The step that takes it all away has to end like any other.
  ASSERT_TRUE(store_->tasks().erase(task.id));
  task = *store_->tasks().get(task.id);
  ASSERT_TRUE(task.step);
  task = tell(task, model::CleanedUp{task.step->name});
  EXPECT_EQ(store_->texts().read(model::sha256("secret plan")).error().code, ErrorCode::NotFound);
  const auto row = *store_->tasks().row(task.id);
  EXPECT_EQ(row.state, "cancelled");
  EXPECT_TRUE(row.deleted);
  EXPECT_TRUE(store_->runs().ofTask(task.id)->empty());
  EXPECT_TRUE(store_->conversations().ofTask(task.id)->empty());
  EXPECT_TRUE(store_->tasks().list({}, 0, 10)->empty());
  const auto line = *store_->tasks().list({.deleted = true}, 0, 10);
  ASSERT_EQ(line.size(), 1U);
  EXPECT_EQ(line[0].title, task.title);
  EXPECT_TRUE(store_->tasks().openSteps()->empty());
  EXPECT_LE(store_->tasks().events(0, 100, {}, task.id)->size(), 6U);
  ASSERT_TRUE(store_->tasks().rebuildProjections());
  EXPECT_EQ(*store_->tasks().row(task.id), row);
}

TEST_F(TaskStore, TextsLiveAsLongAsATaskNamesThem) {
  const auto digest = *store_->texts().keep(1, std::string("a\0b", 3));
  EXPECT_EQ(*store_->texts().keep(2, std::string("a\0b", 3)), digest);
  ASSERT_TRUE(store_->texts().drop(1));
  EXPECT_EQ(*store_->texts().read(digest), std::string("a\0b", 3));
  ASSERT_TRUE(store_->texts().drop(2));
  EXPECT_FALSE(store_->texts().read(digest));
}

TEST_F(TaskStore, ManyTasksPlayedThroughTheStoreAreWhatTheirEventsMakeOfThem) {
  std::vector<model::Task> tasks;
  for (int i = 0; i < 20; ++i)
    tasks.push_back(planReady(make()));
  for (auto& task : tasks)
    task = tell(task, model::Replied{model::sha256("r")});
  reopen();
  for (const auto& task : tasks)
    EXPECT_EQ(*store_->tasks().get(task.id), task);
}

}  // namespace
}  // namespace coffer::store
