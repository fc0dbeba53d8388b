#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/suites.hpp"
#include "fuzz/properties/property.hpp"
#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/plan.hpp"
#include "harness/shard.hpp"
#include "reports/format.hpp"

namespace attest {
namespace {

struct Item {
  std::string name, text;
};
struct Group {
  std::string name;
  std::vector<Item> items;
};

std::vector<Group> groups() {
  Group kernels{"kernels", {}}, devices{"devices", {}}, tiers{"tiers", {}}, suites{"suites", {}};
  Group distributions{"distributions", {}}, properties{"properties", {}}, checks{"checks", {}},
      ariths{"arithmetics", {}}, formats{"formats", {}};
  for (const auto list : {all_kernels(), external_kernels()}) {
    for (const Kernel* k : list) {
      kernels.items.push_back({std::string{k->name()}, std::string{k->summary()}});
    }
  }
  for (const DeviceInfo& d : list_devices())
    devices.items.push_back(
        {d.name, d.available ? d.description
                             : fmt::format("{} (not here: {})", d.description, d.how_to_get)});

  for (const PlanTier& tier : plan_tiers()) {
    tiers.items.push_back({std::string{tier.name}, std::string{tier.purpose}});
  }
  for (const Suite& s : all_suites()) {
    suites.items.push_back(
        {std::string{s.name}, fmt::format("{} cases: {}", s.tokens.size(), s.purpose)});
  }
  for (const Distribution* d : all_distributions()) {
    distributions.items.push_back({std::string{d->name()}, std::string{d->purpose()}});
  }
  properties.items.push_back({std::string{kOracle}, "o, lse and partials agree with the formula"});
  for (const Property* p : all_properties()) {
    properties.items.push_back({std::string{p->name()}, std::string{p->statement()}});
  }
  for (int i = 0; i < kChecks; ++i) {
    const auto check = static_cast<Check>(i);
    checks.items.push_back({std::string{to_string(check)}, std::string{statement(check)}});
  }
  for (const Arith a : kAriths)
    ariths.items.push_back({std::string{to_string(a)}, std::string{statement(a)}});
  for (const ReportFormat& f : all_report_formats()) {
    formats.items.push_back({std::string{f.name}, std::string{f.purpose}});
  }
  return {kernels, devices, tiers, suites, distributions, properties, checks, ariths, formats};
}

double seconds_of(const std::vector<PlannedCase>& cases) {
  double ms = 0;
  for (const PlannedCase& one : cases) ms += one.cost_ms;
  return ms / 1000;
}

// The phases of a plan, in its order.
std::vector<std::string> phases_of(const std::vector<PlannedCase>& plan) {
  std::vector<std::string> phases;
  for (const PlannedCase& one : plan) {
    if (phases.empty() || phases.back() != one.phase) phases.push_back(one.phase);
  }
  return phases;
}

void print_plan(const std::vector<PlannedCase>& plan, const ListRequest& request) {
  fmt::print("tier {}: {} cases, about {:.1f} s of work\n", request.tier, plan.size(),
             seconds_of(plan));
  fmt::print("{:>9} {:>8} {:>10}", "shard", "cases", "seconds");
  for (const std::string& phase : phases_of(plan)) fmt::print(" {:>8}", phase);
  fmt::print("\n");
  for (int i = 0; i < request.plan; ++i) {
    const auto part = part_of(plan, {i, request.plan});
    fmt::print("{:>9} {:>8} {:>10.1f}", fmt::format("{}/{}", i + 1, request.plan), part.size(),
               seconds_of(part));
    for (const std::string& phase : phases_of(plan)) {
      const auto count = std::count_if(part.begin(), part.end(),
                                       [&](const PlannedCase& one) { return one.phase == phase; });
      fmt::print(" {:>8}", count);
    }
    fmt::print("\n");
  }
}

void print_plan_as_json(const std::vector<PlannedCase>& plan, const ListRequest& request) {
  nlohmann::ordered_json json = {{"tier", request.tier},
                                 {"shards", nlohmann::ordered_json::array()}};
  for (int i = 0; i < request.plan; ++i) {
    nlohmann::ordered_json cases = nlohmann::ordered_json::array();
    for (const PlannedCase& one : part_of(plan, {i, request.plan})) {
      cases.push_back({{"token", one.token}, {"phase", one.phase}, {"cost_ms", one.cost_ms}});
    }
    json["shards"].push_back(
        {{"shard", fmt::format("{}/{}", i + 1, request.plan)}, {"cases", std::move(cases)}});
  }
  fmt::print("{}\n", json.dump(2));
}

int list_plan(const CommonOptions& common, const ListRequest& request) {
  PlanRequest wanted{request.tier, common.ledger, request.corpus, request.kills};
  if (!request.costs.empty()) {
    const auto results = read_results(request.costs);
    if (!results.ok()) return report_trouble(results.trouble());
    wanted.costs = costs_of(*results);
  }
  const auto plan = make_plan(wanted);
  if (!plan.ok()) return report_trouble(plan.trouble());
  common.json ? print_plan_as_json(*plan, request) : print_plan(*plan, request);
  return 0;
}

}  // namespace

int command_list(const CommonOptions& common, const ListRequest& request) {
  if (request.plan > 0) return list_plan(common, request);
  nlohmann::ordered_json json;
  for (const Group& group : groups()) {
    if (!common.json) fmt::print("{}\n", group.name);
    json[group.name] = nlohmann::ordered_json::array();
    for (const Item& item : group.items) {
      if (!common.json) fmt::print("  {:<26} {}\n", item.name, item.text);
      json[group.name].push_back({{"name", item.name}, {"text", item.text}});
    }
  }
  if (common.json) fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace attest
