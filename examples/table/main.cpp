// A regression on a table: read it, fit, look at the coefficients, keep the fit for `magva summary` and the
// other commands.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=/where/magva/is/installed && cmake --build build &&
//   build/table data.csv response folder
#include <iostream>
#include <magva/error.hpp>
#include <magva/fit_folder.hpp>
#include <magva/model_source.hpp>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: table FILE RESPONSE FOLDER\n";
    return 2;
  }
  try {
    const magva::table::Table table = magva::table::read_table(argv[1]);
    magva::table::DesignOptions design;
    design.response = argv[2];
    const magva::source::ModelSource source = magva::source::make_table_source(table, design, {});
    for (const std::string& note : source.notes) std::cout << note << "\n";

    const magva::FitResult fit = magva::source::fit(source);
    std::cout << source.description << ": " << magva::to_string(fit.stopped) << ", ELBO " << fit.elbo << "\n";
    for (const auto& warning : fit.warnings) std::cout << "warning: " << warning.message << "\n";

    const magva::results::FitFolder folder = magva::results::save_fit(argv[3], source, fit);
    for (const auto& parameter : magva::results::load_record(folder.record()).parameters)
      std::cout << parameter.name << ": " << parameter.mean << " +- " << parameter.sd << "\n";
    return fit.trusted ? 0 : 3;
  } catch (const magva::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
