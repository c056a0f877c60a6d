/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/results/scalability.h"

/*
 * With y = N lambda / X(N) - 1 the law is linear: y = sigma u + kappa v, u = N - 1, v = N (N - 1).
 */
struct sums {
	double uu, uv, vv, uy, vy;
	size_t count;
};

static struct sums sum_up(const struct scalability_point *points, size_t count, double lambda)
{
	struct sums sums = { 0 };

	for (size_t index = 0; index < count; index++) {
		double threads = points[index].threads;
		double u = threads - 1, v = threads * u;
		double y = threads * lambda / points[index].operations - 1;

		if (threads <= 1 || points[index].operations <= 0)
			continue;
		sums.uu += u * u;
		sums.uv += u * v;
		sums.vv += v * v;
		sums.uy += u * y;
		sums.vy += v * y;
		sums.count++;
	}
	return sums;
}

static double not_negative(double value)
{
	return value > 0 ? value : 0;
}

bool scalability_fit(const struct scalability_point *points, size_t count, struct scalability *fit)
{
	*fit = (struct scalability){ 0 };
	for (size_t index = 0; index < count; index++)
		if (points[index].threads == 1)
			fit->lambda = points[index].operations;
	struct sums sums = sum_up(points, count, fit->lambda);
	double determinant = sums.uu * sums.vv - sums.uv * sums.uv;

	if (fit->lambda <= 0 || !sums.count)
		return false;
	if (sums.count > 1 && determinant > 0) {
		fit->sigma = (sums.uy * sums.vv - sums.vy * sums.uv) / determinant;
		fit->kappa = (sums.vy * sums.uu - sums.uy * sums.uv) / determinant;
		if (fit->sigma < 0) {
			fit->sigma = 0;
			fit->kappa = not_negative(sums.vy / sums.vv);
		}
	}
	if (sums.count == 1 || fit->kappa < 0) {
		fit->sigma = not_negative(sums.uy / sums.uu);
		fit->kappa = 0;
	}
	/* Queueing alone never makes several threads slower than one. */
	if (fit->sigma > 1) {
		fit->sigma = 1;
		fit->kappa = not_negative((sums.vy - sums.uv) / sums.vv);
	}
	return true;
}

double scalability_at(const struct scalability *fit, double threads)
{
	return fit->lambda * threads / (1 + fit->sigma * (threads - 1) + fit->kappa * threads * (threads - 1));
}
