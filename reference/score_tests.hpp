// Score tests: matched filters over the residuals of o. A direction g is what a defect would add to
// o: z = sum e g / s^2 / sqrt(sum g^2 / s^2) over the rows and columns it reaches, in standard
// deviations of the noise that a right kernel makes. Derived in error_bound.md.
#pragma once
#include <span>
#include <vector>

#include "reference/job.hpp"

namespace attest {

// What a device takes to form the sums of the tiles (gpu/gpu_reference.hpp), of a group of jobs.
struct TileResiduals {
  AlignedVector<double> over_variance, inverse, centre;  // [jobs, 16, 512] zeros in unused rows
  AlignedVector<double> scales;                          // [splits, 16]
};

class ScoreTests {
 public:
  ScoreTests(const Problem& problem, const Inputs& inputs, const Contract& contract,
             std::vector<std::span<const std::uint16_t>> observed);

  struct Filter {  // one direction's sums
    double along = 0, squared = 0;
    double allowed = 0;  // of `along`: what a right kernel may add, whatever its other errors are
    void join(const Filter& other);
    double z() const;
  };
  struct OfJob {  // [observed]
    std::vector<Filter> gain, temperature;
    std::vector<std::vector<Filter>> tiles, splits, tokens;
  };
  // Shares of the directions that a right kernel may add to one row.
  struct Tolerances {
    double gain = 0, temperature = 0;
    std::vector<double> tiles, splits, tokens;
  };
  std::size_t outputs() const { return observed_.size(); }
  // Of one row that is finished, and whose job's scores and sums are still there; rows may run at
  // one time.
  Tolerances tolerances_of(const BlockJob& job, const Reference& result, int row_of_block) const;
  // Of job `index` of a group, whose splits begin at `first_split`, and of one output.
  void fill_residuals(const BlockJob& job, const Reference& result, std::size_t output,
                      std::size_t index, std::size_t first_split, TileResiduals& to) const;
  // Of one such job, with its rows' tolerances; jobs may run at one time.
  OfJob run(const BlockJob& job, const Reference& result,
            const std::vector<Tolerances>& tolerances) const;
  // One after another, in order.
  void add(const BlockJob& job, const OfJob& scores);
  // [observed] the largest |z| of each filter.
  std::vector<std::vector<Score>> largest() const;

 private:
  struct Place {
    const char* filter;
    int sequence, split, begin, end;
  };
  struct Residuals;
  double of_temperature(const BlockJob& job, const Reference& result, int row) const;
  void score_tiles_of_row(const BlockJob& job, const Residuals& residuals,
                          const Tolerances& tolerances, const double* o, double lse, int row,
                          std::size_t output, OfJob& scores) const;
  void score_row(const BlockJob& job, const Reference& result, const Residuals& residuals,
                 const Tolerances& tolerances, int row, std::size_t observed, OfJob& scores) const;

  const Problem& problem_;
  const Inputs& inputs_;
  const Contract& contract_;
  std::vector<std::span<const std::uint16_t>> observed_;
  // Sums of what is finished: gain and temperature over all, the rest over rows of one sequence.
  std::vector<Filter> gain_, temperature_;
  int sequence_ = -1;
  std::vector<Place> places_;
  std::vector<std::vector<Filter>> of_sequence_;  // [observed][places]
  std::vector<std::vector<Score>> largest_;
  void close_sequence();
};

}  // namespace attest
