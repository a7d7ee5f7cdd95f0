# Data sets of lme4, MASS, survival and ordinal as CSV files, and what their functions and rstanarm's NUTS make of them.
#
#   Rscript peers.R export FOLDER               writes the data sets that this R has
#   Rscript peers.R fit FOLDER NAME [FACTORS]   of each peer that is installed: a line "time PEER seconds" and lines
#                                               "coefficient PEER NAME estimate standard-error"
#   Rscript peers.R nuts FOLDER NAME [FACTORS]  a line "time rstanarm seconds": four chains, as it has them by default
#
# Seconds are processor time. FACTORS are columns of numbers that are levels, with commas between.

has <- function(package) requireNamespace(package, quietly = TRUE)

export <- function(folder) {
  put <- function(data, name) write.csv(data, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
  take <- function(names, package) if (has(package)) for (name in names) {
    data(list = name, package = package, envir = environment())
    put(get(name), name)
  }
  take(c("cbpp", "sleepstudy", "grouseticks", "InstEval"), "lme4")
  take(c("quine", "birthwt", "Boston"), "MASS")
  take("wine", "ordinal")
  if (has("survival")) put(na.omit(survival::lung[, c("time", "status", "age", "sex", "ph.ecog")]), "lung")
}

glmer <- function(formula, family, ...) function(d) lme4::glmer(formula, d, family = family, ...)
glmm_tmb <- function(formula, family = gaussian()) function(d) glmmTMB::glmmTMB(formula, d, family = family)
mixed <- function(formula, family, ...) list(lme4 = glmer(formula, family, ...), glmmTMB = glmm_tmb(formula, family))
linear_mixed <- function(formula) list(lme4 = function(d) lme4::lmer(formula, d), glmmTMB = glmm_tmb(formula))

formulas <- list(
  cbpp = cbind(incidence, size - incidence) ~ period + (1 | herd),
  sleepstudy = Reaction ~ Days + (1 + Days | Subject),
  grouseticks = TICKS ~ YEAR + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION)
)

fits <- list(
  cbpp = mixed(formulas$cbpp, binomial(), nAGQ = 9),
  sleepstudy = linear_mixed(formulas$sleepstudy),
  grouseticks = mixed(formulas$grouseticks, poisson()),
  InstEval = linear_mixed(y ~ service + (1 | s) + (1 | d)),
  quine = list(MASS = function(d) MASS::glm.nb(Days ~ Eth + Sex + Age + Lrn, d)),
  lung = list(survival = function(d) survival::survreg(survival::Surv(time, status) ~ age + sex, d)),
  wine = list(ordinal = function(d) ordinal::clmm(factor(rating) ~ temp + contact + (1 | judge), d)),
  birthwt = list(lm = function(d) lm(bwt ~ age + lwt + smoke + ptl + ht + ui + ftv, d)),
  Boston = list(lm = function(d) lm(medv ~ ., d)),
  binary = mixed(y ~ x + z + (1 | subject), binomial()),
  slopes = mixed(y ~ x + (1 + x | subject), binomial()),
  nested = mixed(y ~ x + (1 | school/class), binomial()),
  rows = mixed(y ~ x + (1 | site) + (1 | row), poisson()),
  crossed = mixed(y ~ x + (1 | subject) + (1 | item), binomial()),
  counts = mixed(y ~ x + offset(log(days)) + (1 | site), poisson()),
  few = mixed(y ~ x + arm + (1 | subject), binomial()),
  clinics = list(glmmTMB = glmm_tmb(y ~ x + offset(log(days)) + (1 | clinic), glmmTMB::nbinom2())),
  raters = list(ordinal = function(d) ordinal::clmm(factor(y) ~ x + (1 | rater), d)),
  incomplete = mixed(y ~ x + offset(log(effort)) + (1 | field) + (1 | year), poisson())
)

nuts <- list(
  cbpp = function(d) rstanarm::stan_glmer(formulas$cbpp, d, family = binomial, refresh = 0),
  sleepstudy = function(d) rstanarm::stan_lmer(formulas$sleepstudy, d, refresh = 0),
  grouseticks = function(d) rstanarm::stan_glmer(formulas$grouseticks, d, family = poisson, refresh = 0),
  quine = function(d) rstanarm::stan_glm.nb(Days ~ Eth + Sex + Age + Lrn, d, refresh = 0),
  birthwt = function(d) rstanarm::stan_glm(bwt ~ age + lwt + smoke + ptl + ht + ui + ftv, data = d, refresh = 0),
  Boston = function(d) rstanarm::stan_glm(medv ~ ., data = d, refresh = 0)
)

processor <- function(expression) {
  taken <- system.time(expression)
  taken[["user.self"]] + taken[["sys.self"]]
}

read <- function(folder, name, factors) {
  d <- read.csv(file.path(folder, paste0(name, ".csv")), stringsAsFactors = TRUE)
  for (column in factors) d[[column]] <- factor(d[[column]])
  d
}

coefficients_of <- function(fit) {
  if (inherits(fit, "survreg")) return(summary(fit)$table[, 1:2])
  found <- summary(fit)$coefficients
  if (is.list(found)) found <- found$cond
  found[, 1:2]
}

report <- function(peer, d, fit) {
  found <- fit(d)  # the first call also loads what the peer needs
  seconds <- processor(fit(d))
  cat("time", peer, seconds, "\n")
  coefficients <- coefficients_of(found)
  for (name in rownames(coefficients)) cat("coefficient", peer, name, coefficients[name, 1], coefficients[name, 2], "\n")
}

arguments <- commandArgs(trailingOnly = TRUE)
if (arguments[1] == "export") {
  export(arguments[2])
} else {
  d <- read(arguments[2], arguments[3], if (length(arguments) > 3) strsplit(arguments[4], ",")[[1]] else character())
  if (arguments[1] == "fit") {
    for (peer in names(fits[[arguments[3]]]))
      if (peer == "lm" || has(peer))
        tryCatch(suppressWarnings(suppressMessages(report(peer, d, fits[[arguments[3]]][[peer]]))), error = function(e) NULL)
  } else if (has("rstanarm") && !is.null(nuts[[arguments[3]]])) {
    suppressMessages(library(rstanarm))  # stan_lmer looks for stan_glmer on the search path
    cat("time rstanarm", processor(suppressWarnings(nuts[[arguments[3]]](d))), "\n")
  }
}
