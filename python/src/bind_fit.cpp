// Sources and fits.
#include <nanobind/eigen/dense.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bindings.hpp"
#include "commands/ranks.hpp"
#include "commands/sources.hpp"
#include "density.hpp"
#include "fit.hpp"
#include "magva/correct.hpp"
#include "magva/diagnostics.hpp"
#include "magva/error.hpp"
#include "options.hpp"
#include "posterior/normal_quantile.hpp"
#include "results/names.hpp"
#include "results/parameter_summary.hpp"
#include "rows.hpp"
#include "table_builder.hpp"

namespace magva::python {

namespace {

using source::ModelSource;
using ColumnsIn = const nb::DRef<const Matrix>&;

ModelSource density_source(nb::object function, std::vector<std::string> names,
                           const std::string& description, nb::object values) {
  ModelSource source;
  source.reporter = source::make_coordinate_reporter(names);
  source.start = Vector::Zero(static_cast<Index>(names.size()));
  source.model = std::make_shared<PythonDensity>(std::move(function), std::move(values), std::move(names));
  source.description = description;
  return source;
}

/// Takes the table's columns over.
ModelSource table_source(TableBuilder& builder, const std::string& options) {
  const nb::gil_scoped_release unlocked;
  const auto values = parse_options(options);
  ModelSource source =
      commands::make_source(values, [&] { return table::whole_share(std::move(builder.table)); });
  commands::place_on_device(source, values);
  return source;
}

ModelSource stan_source(const std::string& file, const std::string& data, bool generated_quantities,
                        std::uint64_t seed, const nb::object& progress) {
  const nb::gil_scoped_release unlocked;
  return source::make_stan_source({.file = file,
                                   .data = data,
                                   .generated_quantities = generated_quantities,
                                   .seed = seed,
                                   .start_file = std::nullopt,
                                   .progress = [&](const std::string& line) {
                                     const nb::gil_scoped_acquire gil;
                                     progress(line);
                                   }});
}

std::vector<std::string> coordinate_names(const Model& model) {
  std::vector<std::string> names;
  for (Index i = 0; i < model.dimension(); ++i) names.push_back(model.parameter_name(i));
  return names;
}

std::vector<std::string> quantity_names(const ModelSource& source) {
  std::vector<std::string> names;
  for (auto& quantity : source.reporter->quantities()) names.push_back(std::move(quantity.name));
  return names;
}

/// Of the quantities, one row each, by the draws that the record's summary is of.
Matrix quantiles(const Fit& fit, const std::vector<double>& probabilities) {
  const auto seed = fit.record().options.value("seed", std::uint64_t{1});
  Matrix out = results::quantiles(*fit.source().reporter, fit.posterior().best(), seed, probabilities);
  for (Index i = 0; i < out.rows(); ++i)
    if (const auto& p = fit.record().parameters.at(static_cast<std::size_t>(i)); std::isfinite(p.sd_se))
      for (Index k = 0; k < out.cols(); ++k)
        out(i, k) = p.mean + normal_quantile(probabilities[static_cast<std::size_t>(k)]) * p.sd;
  return out;
}

void bind_source(nb::module_& module) {
  nb::class_<ModelSource>(module, "Source")
      .def_static("density", density_source, nb::arg("function"), nb::arg("names"), nb::arg("description"),
                  nb::arg("values").none() = nb::none())
      .def_static("table", table_source, nb::arg("table"), nb::arg("options"))
      .def_static("stan", stan_source, nb::arg("file"), nb::arg("data"), nb::arg("generated_quantities"),
                  nb::arg("seed"), nb::arg("progress"))
      .def(
          "report_by",
          [](ModelSource& self, nb::object function, std::vector<std::string> names) {
            self.reporter = std::make_shared<PythonReporter>(std::move(function), std::move(names));
          },
          nb::arg("function"), nb::arg("names"))
      .def_prop_ro("dimension", [](const ModelSource& self) { return self.model->dimension(); })
      .def_prop_ro("names", [](const ModelSource& self) { return coordinate_names(*self.model); })
      .def_prop_ro("start", [](const ModelSource& self) { return Vector(self.start); })
      .def_ro("notes", &ModelSource::notes)
      .def_ro("description", &ModelSource::description);
}

Fit run(const ModelSource& source, const std::string& options, std::optional<Vector> init, nb::object watch,
        bool every_view) {
  return Fit::run(source, parse_options(options), std::move(init), {std::move(watch), every_view});
}

/// A regression whose rows are spread over the ranks of an MPI communicator, which all call this with the
/// same table. The fit is rank 0's; on the others, nothing.
std::optional<Fit> run_on_ranks(TableBuilder& builder, const std::string& model, const std::string& options,
                                int communicator, std::optional<Vector> init, nb::object watch,
                                bool every_view) {
  commands::Ranks ranks(mpi_communicator(communicator));
  ModelSource source;
  {
    const nb::gil_scoped_release unlocked;
    const auto values = parse_options(model);
    source = ranks.share(values, [&] {
      return commands::make_source(values, [&] { return table::whole_share(std::move(builder.table)); });
    });
  }
  if (!source.model) return std::nullopt;
  Fit fit = Fit::run(source, parse_options(options), std::move(init), {std::move(watch), every_view});
  fit.forget_model();  // the other ranks wait until it is gone
  return fit;
}

nb::list parameters(const Fit& fit) {
  nb::list rows;
  for (const auto& p : fit.record().parameters)
    rows.append(nb::make_tuple(p.name, p.mean, p.sd, p.q05, p.q50, p.q95));
  return rows;
}

nb::list group_variables(const std::vector<std::string>& names) {
  nb::list all;
  for (const auto& variable : results::group_variables(names))
    all.append(nb::make_tuple(variable.name, variable.shape, variable.rows));
  return all;
}

nb::list trace(const Fit& fit) {
  nb::list rows;
  for (const auto& row : fit.trace().rows())
    rows.append(nb::make_tuple(row.iteration, row.gradient_evaluations, row.seconds, row.elbo));
  return rows;
}

void bind_record(nb::class_<Fit>& type) {
  using results::FitRecord;
  const auto field = [&](const char* name, auto FitRecord::*member) {
    type.def_prop_ro(name, [member](const Fit& self) { return self.record().*member; });
  };
  field("version", &FitRecord::version);
  field("model", &FitRecord::model);
  field("stopped", &FitRecord::stopped);
  field("stop_detail", &FitRecord::stop_detail);
  field("trusted", &FitRecord::trusted);
  const auto sentences = [&](const char* name, std::vector<std::string> FitRecord::*member) {
    type.def_prop_ro(name, [member](const Fit& self) {
      std::vector<std::string> all = self.record().*member;
      for (std::string& sentence : all) sentence = with_keywords(sentence);
      return all;
    });
  };
  sentences("warnings", &FitRecord::warnings);
  sentences("notes", &FitRecord::notes);
  field("elbo", &FitRecord::elbo);
  field("elbo_se", &FitRecord::elbo_se);
  field("khat", &FitRecord::khat);
  field("iterations", &FitRecord::iterations);
  field("gradient_evaluations", &FitRecord::gradient_evaluations);
  field("rejected_draws", &FitRecord::rejected_draws);
  field("seconds", &FitRecord::seconds);
  field("family", &FitRecord::family);
  type.def_prop_ro("rows", [](const Fit& self) { return self.record().data.rows; });
  type.def_prop_ro("details", [](const Fit& self) { return self.record().details.dump(); });
  type.def_prop_ro("options", [](const Fit& self) { return self.record().options.dump(); });
}

}  // namespace

void bind_fit(nb::module_& module) {
  bind_source(module);
  module.def("group_variables", group_variables, nb::arg("names"));
  nb::class_<Fit> type(module, "Fit");
  bind_record(type);
  type.def_static("run", run, nb::arg("source"), nb::arg("options"), nb::arg("init").none(), nb::arg("watch"),
                  nb::arg("every_view"))
      .def_static("run_on_ranks", run_on_ranks, nb::arg("table"), nb::arg("model"), nb::arg("options"),
                  nb::arg("communicator"), nb::arg("init").none(), nb::arg("watch"), nb::arg("every_view"))
      .def_static("load", &Fit::load, nb::arg("folder"))
      .def("save", &Fit::save, nb::arg("folder"))
      .def_prop_ro("posterior", &Fit::posterior, nb::rv_policy::reference_internal)
      .def_prop_ro("parameters", parameters)
      .def_prop_ro("trace", trace)
      .def_prop_ro("names", [](const Fit& self) { return coordinate_names(*self.source().model); })
      .def_prop_ro("quantity_names", [](const Fit& self) { return quantity_names(self.source()); })
      .def_prop_ro("has_model",
                   [](const Fit& self) {
                     return dynamic_cast<const StoredCoordinates*>(self.source().model.get()) == nullptr;
                   })
      .def("quantiles", quantiles, nb::arg("probabilities"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "report",
          [](const Fit& self, ColumnsIn theta, std::uint64_t seed) {
            return self.source().reporter->report(Matrix(theta), seed);
          },
          nb::arg("theta"), nb::arg("seed"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "model_log_density",
          [](const Fit& self, ColumnsIn theta) { return log_densities(*self.source().model, Matrix(theta)); },
          nb::arg("theta"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "resample",
          [](const Fit& self, Index count, std::uint64_t seed) {
            return importance_resample(*self.source().model, self.posterior().best(), count, seed);
          },
          nb::arg("count"), nb::arg("seed"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "corrected_draws",
          [](const Fit& self, Index count, std::uint64_t seed) {
            return importance_corrected_draws(*self.source().model, self.posterior().best(), count, seed);
          },
          nb::arg("count"), nb::arg("seed"), nb::call_guard<nb::gil_scoped_release>());
  bind_rows(module, type);
}

}  // namespace magva::python
