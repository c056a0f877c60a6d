/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gunther's universal scalability law: N threads do lambda N / (1 + sigma (N - 1) + kappa N (N - 1)) operations a
 * second; sigma is the share of queueing, kappa that of coherency. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct scalability_point {
	double threads;
	double operations; /* measured, a second, of all threads together */
};

struct scalability {
	double lambda, sigma, kappa;
};

/*
 * Least squares over the points; lambda is the rate of one thread. With only one more point kappa is 0, because one
 * number cannot determine two parameters. Neither is below 0. sigma, which cannot make several threads slower than
 * one, is at most 1; any excess goes to kappa. False: one thread was not measured, or nothing else was.
 */
bool scalability_fit(const struct scalability_point *points, size_t count, struct scalability *fit);

double scalability_at(const struct scalability *fit, double threads);
