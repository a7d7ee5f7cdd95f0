#pragma once
// All of the engine and its models.
#include "magva/auto/fit_auto.hpp"
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/model.hpp"
#include "magva/model/check_gradient.hpp"
#include "magva/model/minibatch.hpp"
#include "magva/model/pspline.hpp"
#include "magva/model/regression.hpp"
#include "magva/posterior.hpp"
