#include "magva/error.hpp"
#include "source/model_source.hpp"
#include "source/table_source.hpp"

namespace magva::source {

std::unique_ptr<ModelSource> make_source(const options::Values& values) {
  if (values.arguments.empty())
    throw UsageError("magva fit needs a FILE: a table (CSV, TSV, LIBSVM; '-' for standard input) or a Stan model");
  return make_table_source(values);
}

}  // namespace magva::source
