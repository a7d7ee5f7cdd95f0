#include "scale/cuda_family.hpp"

#include "scale/cuda_families.hpp"
#include "scale/likelihood_model.hpp"

namespace magva::detail {

namespace {

class CudaFamily final : public DeviceFamily {
 public:
  CudaFamily(std::shared_ptr<const RowsOnDevice> rows, std::shared_ptr<const Likelihood> likelihood,
             const magva_cuda_family_options& options, double constant)
      : rows_(std::move(rows)),
        likelihood_(std::move(likelihood)),
        kind_(cuda_likelihood(*likelihood_)),
        constant_(constant),
        own_(likelihood_->nuisance_count(), options.draws),
        own_slopes_(own_.rows(), options.draws),
        own_values_(MAGVA_CUDA_OWN_VALUES, options.draws) {
    rows_->use([&](magva_cuda_rows* at) { return cuda_functions().family_create(at, &options, &family_); });
  }
  ~CudaFamily() override { cuda_functions().family_destroy(family_); }
  CudaFamily(const CudaFamily&) = delete;
  CudaFamily& operator=(const CudaFamily&) = delete;

  void write(int block, int part, const double* from) override {
    use([&] { return cuda_functions().family_write(family_, block, part, from); });
  }
  void read(int block, int part, double* to) override {
    use([&] { return cuda_functions().family_read(family_, block, part, to); });
  }
  void pass(int pass, std::int64_t iteration, const double* given, double* sums) override {
    use([&] { return cuda_functions().family_pass(family_, pass, iteration, given, sums); });
  }

  void evaluate(VectorRef log_density, VectorRef finite) override {
    use([&] { return cuda_functions().family_own(family_, own_.data()); });
    Vector own_priors = Vector::Constant(own_.cols(), constant_);
    own_slopes_.setZero();
    for (Index s = 0; s < own_.cols(); ++s) {
      cuda_own_values(kind_, shape_at(*likelihood_, own_.col(s)), own_values_.col(s).data());
      for (Index k = 0; k < own_.rows(); ++k)
        own_priors(s) += likelihood_->nuisance_prior(k, own_(k, s), own_slopes_(k, s));
    }
    use([&] {
      return cuda_functions().family_evaluate(family_, own_values_.data(), own_slopes_.data(),
                                              log_density.data(), finite.data());
    });
    log_density += own_priors;
  }

 private:
  template <class Work>
  void use(const Work& work) const {
    rows_->use([&](magva_cuda_rows*) { return work(); });
  }

  std::shared_ptr<const RowsOnDevice> rows_;
  std::shared_ptr<const Likelihood> likelihood_;
  int kind_;
  double constant_;
  magva_cuda_family* family_ = nullptr;
  Matrix own_, own_slopes_, own_values_;  // a column for each draw
};

}  // namespace

std::unique_ptr<DeviceFamily> make_cuda_family(std::shared_ptr<const RowsOnDevice> rows,
                                               std::shared_ptr<const Likelihood> likelihood,
                                               magva_cuda_family_options options,
                                               const IndependentPriors& priors, double constant) {
  options.prior_location = priors.location.data();
  options.prior_scale = priors.scale.data();
  options.prior_degrees = priors.degrees_of_freedom.size() > 0 ? priors.degrees_of_freedom.data() : nullptr;
  return std::make_unique<CudaFamily>(std::move(rows), std::move(likelihood), options, constant);
}

}  // namespace magva::detail
