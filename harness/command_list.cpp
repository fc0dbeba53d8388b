#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/suites.hpp"
#include "fuzz/properties/property.hpp"
#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
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
  Group kernels{"kernels", {}}, devices{"devices", {}}, suites{"suites", {}};
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
  return {kernels, devices, suites, distributions, properties, checks, ariths, formats};
}

}  // namespace

int command_list(const CommonOptions& common) {
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
