#include "fuzz/trajectories/steps.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace attest {
namespace {

Case with_steps(std::string steps, std::string_view token = "v1:h=2:s=65,0:page=16") {
  Case c = *parse_token(token);
  c.steps = std::move(steps);
  return c;
}

std::vector<Move> moves_in(const Case& c) { return *moves_of(c); }

constexpr const char* kWellFormed[] = {
    "launch",
    "add130.launch",
    "add130,2.grow0,1.capture.grow0,3.replay.finish0.replay",
    "pad8.splits4.capture.dirty.replay100",
    "finish0.finish0.pad1.launch",
    "splits0.dirty.launch.pad0.launch",
};

TEST(Steps, ThatAreWellFormedAreTakenAndPrintedAsTheyWere) {
  for (const char* text : kWellFormed) {
    EXPECT_EQ(why_invalid_steps(with_steps(text)), "") << text;
    EXPECT_EQ(to_text(*parse_steps(text)), text);
    EXPECT_EQ(parse_token(to_token(with_steps(text)))->steps, text);
  }
}

TEST(Steps, ACaseWithoutStepsHasNoInvalidOnes) { EXPECT_EQ(why_invalid_steps(with_steps("")), ""); }

TEST(Steps, AreRefusedWithTheReason) {
  const std::pair<const char*, const char*> refused[] = {
      {"jump", "'jump' is no command; there are: add, grow"},
      {"add", "takes 1 or 2 numbers"},
      {"launch3", "takes 0 numbers"},
      {"grow0", "takes 2 numbers"},
      {"add1,2,3", "numbers"},
      {"add-1", "numbers"},
      {"add99999999999", "numbers"},
      {"add007", "is written 'add7'"},
      {"replay1", "is written 'replay'"},
      {"launch..launch", "'' is no command"},
      {"grow2,1", "step 1 of 1, grow2,1: there is no request 2; the batch has 2"},
      {"finish0.finish1", "step 2 of 2, finish1: there is no request 1; the batch has 1"},
      {"grow0,0", "grows by nothing"},
      {"finish0.finish0.launch", "the batch has no rows"},
      {"replay", "nothing was captured"},
      {"capture.add5.replay", "3 requests, and 2 rows were captured"},
      {"pad3.capture.add5,2.replay", "2 query tokens, and 1 were captured"},
      {"capture.replay0", "replays nothing"},
      {"add70000", "more than 65536 tokens"},
      {"pad65", "rows 65 is outside 0..64"},
      {"splits257", "splits 257 is outside 0..256"},
      {"add1,9", "query tokens 9 is outside 0..8"},
      {"capture.replay20000", "more than 20000 steps"},
  };
  for (const auto& [text, why] : refused) {
    EXPECT_NE(why_invalid_steps(with_steps(text)).find(why), std::string::npos)
        << text << ": " << why_invalid_steps(with_steps(text));
  }
}

TEST(Steps, ABeginningThatATrajectoryCannotHaveIsRefused) {
  EXPECT_NE(why_invalid_steps(with_steps("launch", "v1:s=64,64:prefix=64")), "");
  EXPECT_NE(why_invalid_steps(with_steps("launch", "v1:base=5")), "");
  EXPECT_NE(why_invalid_steps(with_steps("launch", "v1:prop=repeat")), "");
  EXPECT_NE(why_invalid_steps(with_steps("launch", "v1:s=1x65")), "");
}

TEST(Batch, AFinishedRequestsPagesAreTheFirstThatOthersGet) {
  ServingBatch batch(parse_token("v1:s=40,20:page=16")->problem);
  const std::vector<int> left = batch.requests()[0].pages;
  ASSERT_EQ(left.size(), 3u);
  batch.apply({Verb::kFinish, 0});
  batch.apply({Verb::kGrow, 0, 13});  // from two pages to three
  EXPECT_EQ(batch.requests()[0].pages[2], left[2]);
  batch.apply({Verb::kAdd, 33});
  EXPECT_EQ(batch.requests()[1].pages[0], left[1]);
  EXPECT_EQ(batch.requests()[1].pages[1], left[0]);
  EXPECT_EQ(batch.requests()[1].pages[2], 5) << "a new one, when none is free";
  EXPECT_EQ(batch.pool_pages(), 6);
}

TEST(Batch, NoTwoRequestsShareAPageWhateverTheSteps) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = draw_trajectory(seed, *parse_token("v1:s=65,3:page=16"));
    ServingBatch batch(c.problem);
    for (const Move& move : moves_in(c)) {
      batch.apply(move.step);
      std::set<int> pages;
      std::size_t count = 0;
      for (const Request& request : batch.requests()) {
        EXPECT_EQ(std::ssize(request.pages), (request.s_kv + 15) / 16);
        pages.insert(request.pages.begin(), request.pages.end());
        count += request.pages.size();
      }
      ASSERT_EQ(pages.size(), count) << to_token(c);
    }
  }
}

TEST(Batch, AReplayHasTheRowsAndSplitsOfItsCapture) {
  ServingBatch batch(parse_token("v1:s=40,20:q=2:splits=4")->problem);
  batch.apply({Verb::kPad, 4});
  batch.apply({Verb::kCapture});
  batch.apply({Verb::kSplits, 7});
  batch.apply({Verb::kPad, 0});
  batch.apply({Verb::kFinish, 0});
  EXPECT_EQ(batch.replayed_problem().s_kv, (std::vector<int>{20, 0, 0, 0}));
  EXPECT_EQ(batch.replayed_problem().s_q, (std::vector<int>{2, 1, 1, 1}));
  EXPECT_EQ(batch.replayed_problem().num_splits, 4);
  EXPECT_EQ(batch.problem().s_kv, (std::vector<int>{20}));
  EXPECT_EQ(batch.problem().num_splits, 7);
}

TEST(Replays, ChangeTheBatchInPlaceBeforeEach) {
  const auto moves = *moves_of(with_steps("capture.replay20"));
  int replays = 0, grown = 0, finished = 0, added = 0;
  for (const Move& move : moves) {
    replays += move.step.verb == Verb::kReplay;
    grown += move.step.verb == Verb::kGrow;
    finished += move.step.verb == Verb::kFinish;
    added += move.step.verb == Verb::kAdd;
  }
  EXPECT_EQ(replays, 20);
  EXPECT_EQ(grown, 20);
  EXPECT_EQ(finished, 2);
  EXPECT_EQ(added, 2);
  EXPECT_EQ(moves.back().round, 19);
  EXPECT_EQ(moves_of(with_steps("capture.replay"))->size(), 2u) << "one replay changes nothing";
}

TEST(Draw, IsAPureFunctionOfItsSeedAndAlwaysWellFormed) {
  const Case begin = *parse_token("v1:h=100:s=4000,2,65,7,9:q=5:splits=0:prefix=0:page=64");
  std::set<std::string> drawn;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = draw_trajectory(seed, begin);
    EXPECT_EQ(why_invalid_steps(c), "") << to_token(c);
    EXPECT_EQ(draw_trajectory(seed, begin), c);
    const auto commands = std::ssize(*parse_steps(c.steps));
    EXPECT_TRUE(commands >= 5 && commands <= 16) << c.steps;
    EXPECT_TRUE(runs(parse_steps(c.steps)->back().verb)) << c.steps;
    drawn.insert(c.steps);
  }
  EXPECT_GT(drawn.size(), 295u);
}

// What trajectories are for happens often enough.
TEST(Draw, OftenReplaysAChangedBatchAndReusesPages) {
  int replayed = 0, changed = 0, recycled = 0, dirty = 0, padded = 0;
  constexpr int kDrawn = 300;
  for (std::uint64_t seed = 0; seed < kDrawn; ++seed) {
    const Case c = draw_trajectory(seed, *parse_token("v1:h=2:s=65,17:page=16"));
    ServingBatch batch(c.problem);
    bool replays = false, changes = false, recycles = false;
    int finished_pages = 0;
    for (const Move& move : moves_in(c)) {
      const int pool = batch.pool_pages();
      if (move.step.verb == Verb::kFinish)
        finished_pages += std::ssize(batch.requests()[move.step.a].pages);
      batch.apply(move.step);
      replays |= move.step.verb == Verb::kReplay;
      if (move.step.verb == Verb::kReplay)
        changes |= batch.captured()->s_kv != batch.replayed_problem().s_kv;
      recycles |= move.step.verb == Verb::kAdd && finished_pages > 0 && batch.pool_pages() == pool;
    }
    replayed += replays;
    changed += changes;
    recycled += recycles;
    dirty += c.steps.find("dirty") != std::string::npos;
    padded += c.steps.find("pad") != std::string::npos;
  }
  EXPECT_GT(replayed, kDrawn / 3);
  EXPECT_GT(changed, kDrawn / 4);
  EXPECT_GT(recycled, kDrawn / 10);
  EXPECT_GT(dirty, kDrawn / 10);
  EXPECT_GT(padded, kDrawn / 10);
}

// Fewer commands, or as many with smaller numbers.
bool is_less(const std::vector<Step>& a, const std::vector<Step>& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  const auto sum = [](const std::vector<Step>& steps) {
    return std::accumulate(steps.begin(), steps.end(), std::int64_t{0},
                           [](std::int64_t s, const Step& step) { return s + step.a + step.b; });
  };
  return sum(a) < sum(b);
}

TEST(Shorter, StepsAreWellFormedAndLess) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case c = draw_trajectory(seed, *parse_token("v1:h=2:s=65,17:page=16"));
    const auto shorter = shorter_steps(c);
    EXPECT_FALSE(shorter.empty()) << c.steps;
    for (const std::string& steps : shorter) {
      EXPECT_EQ(why_invalid_steps(with_steps(steps, to_token(c))), "") << steps;
      EXPECT_TRUE(is_less(*parse_steps(steps), *parse_steps(c.steps))) << c.steps << " " << steps;
    }
  }
}

TEST(Shorter, ALostTokenAfterAReplayShrinksToWhatItNeeds) {
  Case c =
      with_steps("splits2.launch.add130.dirty.launch.pad4.capture.grow0,9.replay.finish0.replay12");
  // Fails whenever a batch that has grown is replayed.
  const auto fails = [](const Case& c) {
    bool grown = false, failed = false, captured = false;
    for (const Move& move : moves_in(c)) {
      captured |= move.step.verb == Verb::kCapture;
      grown |= captured && move.step.verb == Verb::kGrow;
      failed |= grown && move.step.verb == Verb::kReplay;
    }
    return failed;
  };
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    for (const std::string& steps : shorter_steps(c)) {
      Case shorter = c;
      shorter.steps = steps;
      if (!fails(shorter)) continue;
      c = shorter;
      shrinks = true;
      break;
    }
  }
  EXPECT_TRUE(c.steps == "capture.grow0,1.replay" || c.steps == "capture.replay2") << c.steps;
}

TEST(Shorter, OneLaunchHasNothingLess) { EXPECT_TRUE(shorter_steps(with_steps("launch")).empty()); }

}  // namespace
}  // namespace attest
