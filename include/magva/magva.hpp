#pragma once
// All of the engine.
#include "magva/auto/fit_auto.hpp"
#include "magva/diagnostics/elbo.hpp"
#include "magva/diagnostics/pareto.hpp"
#include "magva/diagnostics/resample.hpp"
#include "magva/diagnostics/tails.hpp"
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/model.hpp"
#include "magva/posterior.hpp"
