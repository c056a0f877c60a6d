/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/json_document.h"

#include <errno.h>
#include <string.h>

/*
 * json-c (0.16, 0.18) ignores that an object or array could not take a member for want of memory, and the next number
 * that it reads clears errno. So it gets one byte at a time, after which errno still tells.
 */
static errcode_t put_byte(json_tokener *tokener, const char *byte, json_object **document)
{
	errno = 0;
	*document = json_tokener_parse_ex(tokener, byte, 1);
	if (errno == ENOMEM)
		return ENOMEM;
	if (json_tokener_get_error(tokener) == json_tokener_continue)
		return EAGAIN;
	return json_tokener_get_error(tokener) == json_tokener_success ? 0 : EBADMSG;
}

static size_t blanks(const char *text, size_t bytes)
{
	size_t count = 0;

	while (count < bytes && memchr(" \t\r\n", text[count], 4))
		count++;
	return count;
}

static errcode_t parse(json_tokener *tokener, const char *text, size_t bytes, json_object **ret, size_t *wrong_byte)
{
	errcode_t error = EAGAIN;
	size_t at = 0;

	while (error == EAGAIN && at < bytes) {
		json_object_put(TAKE(*ret));
		error = put_byte(tokener, text + at, ret);
		at++;
	}
	*wrong_byte = error == EBADMSG ? at - 1 : at;
	/* Only what ends by itself ends before the text does: an object, an array, a string. */
	if (!error)
		*wrong_byte = at += blanks(text + at, bytes - at);
	return error == EAGAIN || (!error && at < bytes) ? EBADMSG : error;
}

errcode_t json_document_parse(const char *path, const char *action, const char *text, size_t bytes, json_object **ret,
                              struct problem *problem)
{
	json_tokener *tokener = json_tokener_new();
	size_t wrong_byte;

	*ret = NULL;
	if (!tokener)
		return problem_set(problem, ENOMEM, path, action);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	errcode_t error = parse(tokener, text, bytes, ret, &wrong_byte);

	json_tokener_free(tokener);
	if (!error)
		return 0;
	json_object_put(TAKE(*ret));
	if (error != EBADMSG)
		return problem_set(problem, error, path, action);
	return problem_set_reason(problem, EINVAL, path, action, "it is not JSON: see byte %zu", wrong_byte);
}
