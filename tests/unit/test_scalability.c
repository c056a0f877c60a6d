/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/results/scalability.h"

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check_fit(const struct scalability *law, const double *threads, size_t count)
{
	struct scalability_point points[8];
	struct scalability fit;

	for (size_t index = 0; index < count; index++)
		points[index] = (struct scalability_point){ threads[index], scalability_at(law, threads[index]) };
	ck_assert(scalability_fit(points, count, &fit));
	ck_assert_double_eq_tol(fit.lambda, law->lambda, 1e-6 * law->lambda);
	ck_assert_double_eq_tol(fit.sigma, law->sigma, 1e-9);
	ck_assert_double_eq_tol(fit.kappa, law->kappa, 1e-9);
}

START_TEST(a_law_is_found_again)
{
	const double threads[] = { 8, 1, 2, 4, 16 };

	check_fit(&(struct scalability){ 1e6, 0.05, 0.001 }, threads, COUNT(threads));
	check_fit(&(struct scalability){ 3e5, 0, 0 }, threads, COUNT(threads));
	check_fit(&(struct scalability){ 3e5, 0.9, 0 }, threads, COUNT(threads));
	check_fit(&(struct scalability){ 3e5, 0, 0.2 }, threads, COUNT(threads));
	/* One point beside one thread: all is queueing, if that can be. */
	check_fit(&(struct scalability){ 5, 0.25, 0 }, threads + 1, 2);
	check_fit(&(struct scalability){ 5, 1, 0.4 }, threads + 1, 2);
}
END_TEST

START_TEST(no_parameter_is_negative)
{
	const struct scalability_point better_than_linear[] = { { 1, 100 }, { 2, 250 }, { 4, 600 } };
	const struct scalability_point wavering[] = { { 1, 100 }, { 2, 120 }, { 4, 300 } };
	struct scalability fit;

	ck_assert(scalability_fit(better_than_linear, 3, &fit));
	ck_assert_double_eq(fit.sigma, 0);
	ck_assert_double_eq(fit.kappa, 0);
	ck_assert_double_eq(scalability_at(&fit, 4), 400);
	ck_assert(scalability_fit(wavering, 3, &fit));
	ck_assert(fit.sigma > 0);
	ck_assert_double_eq(fit.kappa, 0);
}
END_TEST

START_TEST(too_little_to_fit)
{
	const struct scalability_point only_one[] = { { 1, 100 } };
	const struct scalability_point without_one[] = { { 2, 100 }, { 4, 180 } };
	struct scalability fit;

	ck_assert(!scalability_fit(only_one, 1, &fit));
	ck_assert(!scalability_fit(without_one, 2, &fit));
	ck_assert(!scalability_fit(NULL, 0, &fit));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scalability");
	TCase *tests = tcase_create("scalability");

	tcase_add_test(tests, a_law_is_found_again);
	tcase_add_test(tests, no_parameter_is_negative);
	tcase_add_test(tests, too_little_to_fit);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
