// What the commands share.
#include "harness/commands.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "harness/device/device_list.hpp"
#include "harness/shell_word.hpp"
#include "reports/run/say.hpp"
#include "reports/run/text.hpp"

namespace attest {

std::string repro_options(const CommonOptions& common) {
  std::string text;
  if (common.device != kDefaultDevice) text += " --device " + shell_word(common.device);
  if (common.code_objects != ATTEST_CODE_OBJECT_DIR)
    text += " --code-objects " + shell_word(common.code_objects);
  if (common.reference != CommonOptions{}.reference) text += " --reference " + common.reference;
  if (!common.code_object.empty()) text += " --code-object " + shell_word(common.code_object);
  if (common.guard_page != GuardPage::kNone) {
    text += fmt::format(" --guard-page {}", to_string(common.guard_page));
  }
  if (common.checks.any()) {
    text += " --check";
    if (common.checks != CheckSet::all()) text += "=" + to_string(common.checks);
  }
  if (common.ariths != CommonOptions{}.ariths) {
    text += " --arith ";
    for (const Arith arith : common.ariths)
      text += fmt::format("{}{}", arith == common.ariths.front() ? "" : ",", to_string(arith));
  }
  return text;
}

int report_trouble(const Trouble& trouble) {
  say("attest: {}\n", visible(trouble.text));
  return trouble.kind == TroubleKind::kUsage ? 2 : 4;
}

int write_report(const std::string& path, const std::string& text) {
  if (path.empty()) return 0;
  std::FILE* const file = std::fopen(path.c_str(), "w");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if ((file != nullptr && std::fclose(file) != 0) || !written) {
    return report_trouble({TroubleKind::kInfra, fmt::format("{}: {}", path, std::strerror(error))});
  }
  return 0;
}

}  // namespace attest
