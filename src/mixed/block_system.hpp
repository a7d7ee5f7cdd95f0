#pragma once
// Linear systems of all effects and coefficients: the matrix B' F' W F B + I for F = [Z X], with B block
// diagonal, as it comes up for gaussian responses (Bates, Maechler, Bolker & Walker 2015) and in Newton steps
// for others. With several linear predictors F has rows for each, and W a block for each row of the data.
#include <memory>
#include <mutex>
#include <vector>

#include "core/sparse_cholesky.hpp"
#include "mixed/layout.hpp"
#include "mixed/row_likelihood.hpp"

namespace magva::mixed {

/// What the effects of a term multiply in a row; null: an intercept.
struct TermRows {
  explicit TermRows(const GroupTerm& term)
      : z(term.z.cols() > 0 ? term.z.data() : nullptr),
        count(term.effect_count()),
        group(term.group.data()) {}
  const double* of(Index row) const { return z ? z + row * count : &one; }

  const double* z;
  Index count;
  const std::int32_t* group;
  double one = 1;
};

/// Vectors over effects and coefficients are in elimination order: BlockSystem::effect and coefficient say
/// where.
class BlockSystem {
 public:
  /// The problem must outlive it.
  explicit BlockSystem(const Problem& problem);

  Index size() const { return cholesky_->size(); }
  const SparseCholesky& cholesky() const { return *cholesky_; }
  /// Where the effects of a group are, and the coefficients.
  Index effect(std::size_t term, Index level) const { return cholesky_->first(first_block_[term] + level); }
  Index coefficient() const { return coefficients_ > 0 ? cholesky_->first(blocks_ - 1) : cholesky_->size(); }

  /// Entries of F' W F that may differ from zero, block by block.
  struct Gram {
    std::vector<Vector> term;       ///< q x q blocks of each level of each term
    std::vector<Vector> pair;       ///< q_k x q_l blocks of pairs of groups, for each pair of terms k < l
    std::vector<RowMatrix> with_x;  ///< of each term: a row for each effect of each level
    Matrix x;
  };
  /// `weights`: a column for each pair of predictors, at its pair_place.
  Gram gram(ConstMatrixRef weights) const;
  /// F' t, and F b: a column for each predictor.
  Vector transposed_times(ConstMatrixRef t) const;
  Matrix times(ConstVectorRef b) const;
  /// B: a lower triangular Lambda for the groups of each term, and a scale for each coefficient.
  struct Scales {
    std::vector<Matrix> term;
    Vector coefficient;
  };
  void assemble(const Gram& gram, const Scales& scales, AlignedNumbers& values) const;
  /// B b, in place, or B' b.
  void scale(const Scales& scales, VectorRef b) const;
  void scale_transposed(const Scales& scales, VectorRef b) const;
  /// f_ic' B C B' f_id of all rows i and pairs of predictors.
  Matrix row_forms(const Scales& scales, const AlignedNumbers& inverse) const;
  /// Sum over pairs of different rows of a group of the product of their third derivatives by what they have
  /// in common: with one predictor t_i t_j (f_i' B C B' f_j)^3. C is the covariance of the group's effects
  /// given all others.
  double shared_cubes(const Scales& scales, ConstMatrixRef weights, const ThirdDerivatives& thirds) const;
  /// Sum over groups of v v' + C - I, C the group's block of the inverse.
  Matrix second_moments(std::size_t term, ConstVectorRef v, const AlignedNumbers& inverse) const;
  /// The diagonal of C at the coefficients, and the trace of C.
  Vector coefficient_variances(const AlignedNumbers& inverse) const;
  double trace(const AlignedNumbers& inverse) const;

 private:
  struct TermPair {
    std::size_t first, second;
    std::vector<std::int32_t> of_row;
    std::int64_t count = 0;
    Index below = 0;  // number of its first block among pattern.below
  };
  void find_pairs(BlockPattern& pattern);
  template <int kSize>
  void assemble_term(std::size_t k, const Gram& gram, const Scales& scales, AlignedNumbers& values) const;
  template <int kSize>
  void assemble_pair(std::size_t t, const Gram& gram, const Scales& scales, AlignedNumbers& values) const;
  double shared_cubes_of_single(std::size_t k, const Scales& scales, ConstVectorRef weights,
                                ConstVectorRef t) const;
  double shared_cubes_of(std::size_t t, const Scales& scales, ConstMatrixRef weights,
                         const ThirdDerivatives& thirds) const;
  std::vector<Matrix> multipliers(std::size_t t, const Scales& scales, const std::vector<Index>& rows) const;
  const GroupTerm& term(std::size_t k) const { return problem_.data.terms[k]; }
  double z(std::size_t k, Index row, Index effect) const {
    return term(k).z.cols() > 0 ? term(k).z(row, effect) : 1.0;
  }
  std::size_t terms() const { return problem_.data.terms.size(); }
  Index predictor(std::size_t k) const { return problem_.predictor_of(k); }
  Index place(std::size_t k, std::size_t l) const { return pair_place(predictor(k), predictor(l)); }

  const Problem& problem_;
  Index coefficients_;
  Index blocks_ = 0;
  std::vector<Index> first_block_;
  std::vector<TermPair> pairs_;
  Index below_x_ = 0;  // number of the first block of [X'Z] among pattern.below
  std::unique_ptr<const SparseCholesky> cholesky_;
};

/// Memory for one factorisation and its inverse.
struct SystemMemory {
  explicit SystemMemory(const SparseCholesky& cholesky)
      : factor(static_cast<std::size_t>(cholesky.storage())),
        inverse(static_cast<std::size_t>(cholesky.storage())),
        stack(cholesky.make_stack()) {}
  AlignedNumbers factor;
  AlignedNumbers inverse;
  FrontStack stack;
};

/// As many memories as there are tasks at one time; they are made when needed and used again.
class MemoryPool {
 public:
  explicit MemoryPool(const SparseCholesky& cholesky) : cholesky_(cholesky) {}

  class Lease {
   public:
    explicit Lease(MemoryPool& pool) : pool_(pool), memory_(pool.take()) {}
    ~Lease() { pool_.give_back(std::move(memory_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    SystemMemory& operator*() { return *memory_; }

   private:
    MemoryPool& pool_;
    std::unique_ptr<SystemMemory> memory_;
  };

 private:
  std::unique_ptr<SystemMemory> take();
  void give_back(std::unique_ptr<SystemMemory> memory);

  const SparseCholesky& cholesky_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SystemMemory>> free_;
};

}  // namespace magva::mixed
