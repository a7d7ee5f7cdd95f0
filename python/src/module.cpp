// The extension magva._core: thin bindings, which the package's Python files make pleasant.
#include "bindings.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "options.hpp"

namespace magva::python {

namespace {

void translate(const std::exception_ptr& error, void* data_error) {
  try {
    std::rethrow_exception(error);
  } catch (const UsageError& e) {
    PyErr_SetString(PyExc_ValueError, with_keywords(e.what()).c_str());
  } catch (const DataError& e) {
    PyErr_SetString(static_cast<PyObject*>(data_error), with_keywords(e.what()).c_str());
  } catch (const IoError& e) {
    PyErr_SetString(PyExc_OSError, with_keywords(e.what()).c_str());
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // fits that outlive the interpreter are no fault of theirs
  module.attr("__version__") = version();
  PyObject* data_error = PyErr_NewExceptionWithDoc(
      "magva.DataError", "Data, a model or a file whose content cannot be used.", PyExc_ValueError, nullptr);
  if (data_error == nullptr) throw nb::python_error();
  module.attr("DataError") = nb::borrow(data_error);
  nb::register_exception_translator(translate, data_error);
  bind_options(module);
  bind_table(module);
  bind_gaussian(module);
  bind_fit(module);
}

}  // namespace magva::python
