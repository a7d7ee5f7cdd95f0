#pragma once
// All of the engine and its models.
#include "magva/check_gradient.hpp"
#include "magva/diagnostics.hpp"
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "magva/model.hpp"
#include "magva/posterior.hpp"
#include "magva/predict.hpp"
#include "magva/regression.hpp"
