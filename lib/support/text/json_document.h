/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON that somebody else wrote, by json-c. What we write is in support/text/json.h. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "support/cleanup.h"
#include "support/problem.h"

/*
 * The document that is all of the text, but for blanks around it; the caller puts it. EBADMSG: it is not JSON, and
 * *wrong_byte is where that was seen. ENOMEM also where json-c left something out of it.
 */
MUST_CHECK errcode_t json_document_parse(const char *text, size_t bytes, json_object **ret, size_t *wrong_byte);
