#pragma once
#include "magva/auto/fit_auto.hpp"
#include "magva/diagnostics/elbo.hpp"
#include "magva/diagnostics/pareto.hpp"
#include "magva/diagnostics/resample.hpp"
#include "magva/diagnostics/tails.hpp"
// All of the engine and its models.
// All of the engine.
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/model.hpp"
#include "magva/model/check_gradient.hpp"
#include "magva/model/minibatch.hpp"
#include "magva/model/pspline.hpp"
#include "magva/model/regression.hpp"
#include "magva/posterior.hpp"
