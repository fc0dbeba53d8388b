#include "harness/selection.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/suites.hpp"
#include "fuzz/properties/property.hpp"
#include "fuzz/trajectories/steps.hpp"
#include "harness/core/kernel.hpp"
#include "harness/corpus.hpp"

namespace attest {
namespace {

template <class List, class Name>
std::string names(const List& list, Name name) {
  std::string text;
  for (const auto& item : list) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(item));
  return text;
}

bool matches(const std::string& token, const std::string& match) {
  if (match.find_first_of("*?[") == std::string::npos)
    return token.find(match) != std::string::npos;
  return fnmatch(match.c_str(), token.c_str(), 0) == 0;
}

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

}  // namespace

Trouble unknown_distribution(std::string_view name) {
  return usage(
      fmt::format("there is no distribution '{}'; there are: {}", name,
                  names(all_distributions(), [](const Distribution* d) { return d->name(); })));
}

Trouble unknown_kernel(std::string_view name) {
  const auto name_of = [](const Kernel* k) { return k->name(); };
  return usage(fmt::format("there is no kernel '{}'; there are: {}, {}", name,
                           names(all_kernels(), name_of), names(external_kernels(), name_of)));
}

Trouble unknown_property(std::string_view name) {
  return usage(fmt::format("there is no property '{}'; there are: {}, {}", name, kOracle,
                           names(all_properties(), [](const Property* p) { return p->name(); })));
}

Result<Case> known_case(std::string_view token) {
  Result<Case> c = parse_token(token);
  if (!c.ok()) return c;
  if (find_kernel(c->kernel) == nullptr) return unknown_kernel(c->kernel);
  if (find_distribution(c->distribution) == nullptr) return unknown_distribution(c->distribution);
  if (c->property != kOracle && find_property(c->property) == nullptr) {
    return unknown_property(c->property);
  }
  if (std::string why = why_invalid_steps(*c); !why.empty()) return usage(std::move(why));
  return c;
}

Result<std::vector<Case>> select_cases(const Selection& selection) {
  std::vector<std::string> tokens;
  if (!selection.corpus.empty()) {
    const auto kept = read_corpus(selection.corpus);
    if (!kept.ok()) return kept.trouble();
    for (const CorpusCase& one : *kept) tokens.push_back(to_token(one.c));
  }
  tokens.insert(tokens.end(), selection.tokens.begin(), selection.tokens.end());
  const auto take = [&](const Suite& suite) {
    tokens.insert(tokens.end(), suite.tokens.begin(), suite.tokens.end());
  };
  for (const std::string& name : selection.suites) {
    const Suite* const suite = find_suite(name);
    if (suite == nullptr) {
      return usage(fmt::format("there is no suite '{}'; there are: {}", name,
                               names(all_suites(), [](const Suite& s) { return s.name; })));
    }
    take(*suite);
  }
  if (tokens.empty() && selection.corpus.empty() && !selection.match.empty()) {
    for (const Suite& suite : all_suites()) {
      if (!suite.only_by_name) take(suite);
    }
  }
  std::vector<Case> cases;
  for (const std::string& token : tokens) {
    const Result<Case> c = known_case(token);
    if (!c.ok()) return c.trouble();
    const bool wanted = selection.match.empty() || matches(to_token(*c), selection.match);
    if (wanted && std::find(cases.begin(), cases.end(), *c) == cases.end()) cases.push_back(*c);
  }
  return cases;
}

}  // namespace attest
