/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/oci_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/layers/image_files.h"

#define MOST_LISTED 20

static const char *reference_of(const json_object *descriptor)
{
	return image_text(json_object_object_get(descriptor, "annotations"), "org.opencontainers.image.ref.name");
}

static const json_object *platform_of(const json_object *descriptor)
{
	return json_object_object_get(descriptor, "platform");
}

/* The properties that the chosen descriptor must have. */
struct wish {
	const char *reference;           /* NULL: any */
	const struct platform *platform; /* NULL: any */
	bool may_lack_platform;
	const struct oci_choice *present; /* is_there() says that it is; NULL: nobody asks */
};

static bool fits(const json_object *descriptor, const struct wish *wish)
{
	const json_object *platform = platform_of(descriptor);

	/* Builders put attestations of how an image was built beside it; their system is "unknown". */
	if (!strcmp(image_text(platform, "os"), "unknown"))
		return false;
	if (wish->reference && strcmp(reference_of(descriptor), wish->reference))
		return false;
	if (wish->present && !wish->present->is_there(wish->present->context, descriptor))
		return false;
	return !wish->platform || (wish->may_lack_platform && !platform) || platform_fits(wish->platform, platform);
}

static size_t count_fitting(const json_object *descriptors, const struct wish *wish, const json_object **first)
{
	size_t count = 0;

	for (size_t i = 0; i < json_object_array_length(descriptors); i++) {
		const json_object *descriptor = json_object_array_get_idx(descriptors, i);

		if (!fits(descriptor, wish))
			continue;
		if (!count++)
			*first = descriptor;
	}
	return count;
}

/* Returns the names that can be chosen, for a message. The caller frees it; NULL: no memory. */
static char *list_choices(const json_object *descriptors, const struct wish *wish)
{
	size_t listed = 0, bytes;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &bytes);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < json_object_array_length(descriptors); i++) {
		const json_object *descriptor = json_object_array_get_idx(descriptors, i);

		if (!fits(descriptor, wish) || listed > MOST_LISTED)
			continue;
		fputs(listed ? ", " : "", stream);
		if (listed == MOST_LISTED) {
			fputs("...", stream);
		} else {
			bool has_platform = *image_text(platform_of(descriptor), "os");

			fprintf(stream, "%.160s%s", reference_of(descriptor),
			        has_platform && *reference_of(descriptor) ? " for " : "");
			if (has_platform)
				platform_print(platform_of(descriptor), stream);
		}
		listed++;
	}
	/* fclose() completes the text, so it comes first. */
	if (fclose(stream) || !text)
		return text;
	return *text ? text : (free(text), strdup("none"));
}

/* The wanted platform is not there exactly once, or without it there is no single image. */
static errcode_t refuse(const json_object *descriptors, const char *path, const struct oci_choice *choice,
                        const struct platform *platform, struct problem *problem)
{
	const struct wish any = { 0 }, named = { .reference = choice->reference };
	const json_object *first;
	const size_t count = count_fitting(descriptors, &named, &first);
	SCOPE_FREE char *choices = list_choices(descriptors, count ? &named : &any);

	if (!choices)
		return problem_set(problem, ENOMEM, path, "cannot use");
	if (!count && choice->reference)
		return problem_set_reason(problem, EINVAL, path, "cannot choose an image",
		                          "none is called \"%.160s\"; there are: %s", choice->reference, choices);
	if (!count)
		return problem_set_reason(problem, EINVAL, path, "cannot choose an image", "the index lists none");
	if (choice->platform)
		return problem_set_reason(problem, EINVAL, path, "cannot choose an image",
		                          "there is not exactly one for %s: %s", choice->platform, choices);
	return problem_set_reason(problem, EINVAL, path, "cannot choose an image",
	                          "there are several, and not exactly one for %s/%s: %s", platform->system,
	                          platform->architecture, choices);
}

/* The image is listed, but only others have been copied. If none is there, opening the file says so. */
static errcode_t check_presence(const json_object *descriptors, const char *path, const struct oci_choice *choice,
                                const json_object *chosen, struct problem *problem)
{
	const struct wish present = { .reference = choice->reference, .present = choice };
	const json_object *first;

	if (choice->is_there(choice->context, chosen) || !count_fitting(descriptors, &present, &first))
		return 0;
	SCOPE_FREE char *platform = NULL, *choices = list_choices(descriptors, &present);
	size_t bytes;
	FILE *stream = open_memstream(&platform, &bytes);

	if (!stream)
		return ENOMEM;
	platform_print(platform_of(chosen), stream);
	if (fclose(stream) || !platform || !choices)
		return ENOMEM;
	return problem_set_reason(problem, ENOENT, path, "cannot choose an image",
	                          "that for %s is listed, but its manifest is not there; --platform chooses one that "
	                          "is: %s",
	                          platform, choices);
}

errcode_t oci_choose(const json_object *index, const char *path, const struct oci_choice *choice,
                     const json_object **ret, struct problem *problem)
{
	const json_object *descriptors = json_object_object_get(index, "manifests");
	struct platform platform = platform_of_host();
	errcode_t error = choice->platform ? platform_parse(choice->platform, &platform) : 0;
	const struct wish named = { .reference = choice->reference };
	const struct wish fitting = { .reference = choice->reference, .platform = &platform };
	const struct wish perhaps = { .reference = choice->reference,
		                      .platform = &platform,
		                      .may_lack_platform = true };

	if (error)
		return error;
	if (!json_object_is_type(descriptors, json_type_array))
		return problem_set_reason(problem, EINVAL, path, "cannot use", "it has no list of manifests");
	if (choice->platform ?
	            count_fitting(descriptors, &fitting, ret) == 1 || count_fitting(descriptors, &perhaps, ret) == 1 :
	            count_fitting(descriptors, &named, ret) == 1 || count_fitting(descriptors, &fitting, ret) == 1)
		return check_presence(descriptors, path, choice, *ret, problem);
	return refuse(descriptors, path, choice, &platform, problem);
}
