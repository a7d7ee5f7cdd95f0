#pragma once
// All of the engine.
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/model.hpp"
#include "magva/posterior.hpp"
