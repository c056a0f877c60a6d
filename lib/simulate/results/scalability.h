/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gunther's universal scalability law: N threads do lambda N / (1 + sigma (N - 1) + kappa N (N - 1)) operations a
 * second; sigma is what they queue for, kappa what they have to tell one another. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct scalability_point {
	double threads;
	double operations; /* a second, of all threads together, measured */
};

struct scalability {
	double lambda, sigma, kappa;
};

/*
 * Least squares over the points; lambda is what one thread does. With only one more point kappa is 0: two
 * parameters cannot be told from one number. Neither is below 0, and sigma, which cannot make several threads slower
 * than one, is at most 1; what is above that is kappa's. False: one thread was not measured, or nothing else.
 */
bool scalability_fit(const struct scalability_point *points, size_t count, struct scalability *fit);

double scalability_at(const struct scalability *fit, double threads);
