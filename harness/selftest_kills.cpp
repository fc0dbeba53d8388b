#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "harness/selftest.hpp"

namespace attest {

std::vector<Kill> kills_of(const std::vector<Trial>& trials) {
  std::vector<Kill> kills;
  for (const Trial& t : trials) {
    if (t.killed && !t.is_benign) {
      kills.push_back({t.name, t.found.bucket, to_token(t.found.smallest)});
    }
  }
  return kills;
}

Result<std::vector<Kill>> read_kills(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Trouble{TroubleKind::kUsage, path + " cannot be read"};
  std::vector<Kill> kills;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Kill kill;
    if (!(words >> kill.mutant >> kill.bucket >> kill.token)) {
      return Trouble{TroubleKind::kUsage,
                     fmt::format("{}:{}: a line is MUTANT BUCKET TOKEN", path, number)};
    }
    kills.push_back(std::move(kill));
  }
  return kills;
}

std::vector<Kill> renewed(std::vector<Kill> kills, const std::vector<Kill>& by) {
  std::map<std::string, Kill> of_mutant;
  kills.insert(kills.end(), by.begin(), by.end());
  for (Kill& kill : kills) of_mutant[kill.mutant] = std::move(kill);
  std::vector<Kill> all;
  for (auto& [name, kill] : of_mutant) all.push_back(std::move(kill));
  return all;
}

std::string to_text(const std::vector<Kill>& kills) {
  std::string text =
      "# Killed mutants: name, bucket, and the smallest token found that shows it.\n"
      "# Written by `attest selftest --keep`; `attest selftest --replay` runs each again.\n";
  for (const Kill& kill : kills) {
    text += fmt::format("{} {} {}\n", kill.mutant, kill.bucket, kill.token);
  }
  return text;
}

}  // namespace attest
