/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/json_document.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/*
 * json-c (0.16, 0.18) ignores a failure to add a member to an object or array for lack of memory, and the next number
 * that it reads clears errno. So it gets the text in pieces that end at the next of these characters, after which
 * errno still has ENOMEM. (A byte takes 20 ns in one piece of the whole text, 50 in these, 160 in pieces of one byte:
 * a report of 92 KiB.)
 */
static size_t piece(const char *text, size_t bytes)
{
	size_t count = 0;

	while (count < bytes && !memchr(",:[]{}", text[count], 6))
		count++;
	return count + (count < bytes);
}

static size_t blanks(const char *text, size_t bytes)
{
	size_t count = 0;

	while (count < bytes && memchr(" \t\r\n", text[count], 4))
		count++;
	return count;
}

/* *at becomes the offset of the error, or the end of the document. */
static errcode_t parse(json_tokener *tokener, const char *text, size_t bytes, json_object **ret, size_t *at)
{
	enum json_tokener_error result = json_tokener_continue;

	for (*at = 0; result == json_tokener_continue && *at < bytes; *at += json_tokener_get_parse_end(tokener)) {
		errno = 0;
		*ret = json_tokener_parse_ex(tokener, text + *at, (int)piece(text + *at, bytes - *at));
		if (errno == ENOMEM)
			return ENOMEM;
		result = json_tokener_get_error(tokener);
	}
	if (result != json_tokener_success)
		return EBADMSG;
	/* An object, an array or a string ends by itself, before the text does. */
	*at += blanks(text + *at, bytes - *at);
	return *at < bytes ? EBADMSG : 0;
}

/*
 * json-c 0.18 (Debian 13) compares bytes as signed numbers: where it is strict, it takes those of UTF-8 for control
 * characters, which a text must not have.
 */
static bool refuses_utf8(void)
{
	static const char text[] = "\"\303\274\"";
	json_tokener *tokener = json_tokener_new();

	if (!tokener)
		return false;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	json_object_put(json_tokener_parse_ex(tokener, text, (int)sizeof(text)));
	bool is_refused = json_tokener_get_error(tokener) != json_tokener_success;

	json_tokener_free(tokener);
	return is_refused;
}

static bool is_ascii(const char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		if ((unsigned char)text[at] > 0x7f)
			return false;
	return true;
}

errcode_t json_document_parse(const char *path, const char *action, const char *text, size_t bytes, json_object **ret,
                              struct problem *problem)
{
	json_tokener *tokener = json_tokener_new();
	size_t wrong_byte;

	*ret = NULL;
	if (!tokener)
		return problem_set(problem, ENOMEM, path, action);
	if (is_ascii(text, bytes) || !refuses_utf8())
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
