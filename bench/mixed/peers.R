# Data sets of lme4 and MASS as CSV files, and how long lme4, glmmTMB, MASS and rstanarm's NUTS take.
#
#   Rscript peers.R export FOLDER       writes the data sets that this R has
#   Rscript peers.R time FOLDER NAME    prints a line "peer seconds" for each that is installed
#   Rscript peers.R nuts FOLDER NAME    the same for rstanarm: four chains on two cores, as it has them by default

has <- function(package) requireNamespace(package, quietly = TRUE)

export <- function(folder) {
  put <- function(data, name) write.csv(data, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
  if (has("lme4")) {
    for (name in c("cbpp", "sleepstudy", "grouseticks", "InstEval")) {
      data(list = name, package = "lme4", envir = environment())
      put(get(name), name)
    }
  }
  if (has("MASS")) for (name in c("quine", "birthwt", "Boston")) {
    data(list = name, package = "MASS", envir = environment())
    put(get(name), name)
  }
  if (has("survival")) put(na.omit(survival::lung[, c("time", "status", "age", "sex", "ph.ecog")]), "lung")
}

fits <- list(
  cbpp = list(lme4 = function(d) lme4::glmer(cbind(incidence, size - incidence) ~ factor(period) + (1 | herd), d,
                                             family = binomial, nAGQ = 9),
              glmmTMB = function(d) glmmTMB::glmmTMB(cbind(incidence, size - incidence) ~ factor(period) + (1 | herd), d,
                                                     family = binomial)),
  sleepstudy = list(lme4 = function(d) lme4::lmer(Reaction ~ Days + (1 + Days | Subject), d),
                    glmmTMB = function(d) glmmTMB::glmmTMB(Reaction ~ Days + (1 + Days | Subject), d)),
  grouseticks = list(lme4 = function(d) lme4::glmer(TICKS ~ factor(YEAR) + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION),
                                                    d, family = poisson),
                     glmmTMB = function(d) glmmTMB::glmmTMB(TICKS ~ factor(YEAR) + cHEIGHT + (1 | BROOD) + (1 | INDEX) +
                                                              (1 | LOCATION), d, family = poisson)),
  InstEval = list(lme4 = function(d) lme4::lmer(y ~ service + (1 | s) + (1 | d), d),
                  glmmTMB = function(d) glmmTMB::glmmTMB(y ~ service + (1 | s) + (1 | d), d)),
  quine = list(MASS = function(d) MASS::glm.nb(Days ~ Eth + Sex + Age + Lrn, d)),
  birthwt = list(lm = function(d) lm(bwt ~ age + lwt + smoke + ptl + ht + ui + ftv, d)),
  Boston = list(lm = function(d) lm(medv ~ ., d)),
  binary = list(lme4 = function(d) lme4::glmer(y ~ x + z + (1 | subject), d, family = binomial),
                glmmTMB = function(d) glmmTMB::glmmTMB(y ~ x + z + (1 | subject), d, family = binomial)),
  crossed = list(lme4 = function(d) lme4::glmer(y ~ x + (1 | subject) + (1 | item), d, family = binomial),
                 glmmTMB = function(d) glmmTMB::glmmTMB(y ~ x + (1 | subject) + (1 | item), d, family = binomial)),
  counts = list(lme4 = function(d) lme4::glmer(y ~ x + offset(log(days)) + (1 | site), d, family = poisson),
                glmmTMB = function(d) glmmTMB::glmmTMB(y ~ x + offset(log(days)) + (1 | site), d, family = poisson))
)

nuts <- list(
  cbpp = function(d) rstanarm::stan_glmer(cbind(incidence, size - incidence) ~ factor(period) + (1 | herd), d, family = binomial,
                                          refresh = 0),
  sleepstudy = function(d) rstanarm::stan_lmer(Reaction ~ Days + (1 + Days | Subject), d, refresh = 0),
  grouseticks = function(d) rstanarm::stan_glmer(TICKS ~ factor(YEAR) + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION), d,
                                                 family = poisson, refresh = 0)
)

time_of_nuts <- function(folder, name) {
  if (!has("rstanarm") || is.null(nuts[[name]])) return(invisible())
  d <- read.csv(file.path(folder, paste0(name, ".csv")))
  options(mc.cores = 2)
  cat("rstanarm", system.time(suppressWarnings(nuts[[name]](d)))[["elapsed"]], "\n")
}

time_of <- function(folder, name) {
  d <- read.csv(file.path(folder, paste0(name, ".csv")))
  for (peer in names(fits[[name]])) {
    if (!(peer == "lm" || has(peer))) next
    seconds <- tryCatch(min(replicate(if (name == "InstEval") 1 else 3,
                                      system.time(suppressMessages(fits[[name]][[peer]](d)))[["elapsed"]])),
                        error = function(e) NA)
    cat(peer, seconds, "\n")
  }
}

arguments <- commandArgs(trailingOnly = TRUE)
switch(arguments[1],
       export = export(arguments[2]),
       time = time_of(arguments[2], arguments[3]),
       nuts = time_of_nuts(arguments[2], arguments[3]))
