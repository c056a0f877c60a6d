/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON that somebody else wrote, by json-c. What we write is in support/text/json.h. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "support/problem.h"

/*
 * The document that is all of the text, but for blanks around it; the caller puts it. EINVAL: it is not JSON, of which
 * the problem says where that was seen, with path and action. ENOMEM also where json-c left something out of it.
 */
MUST_CHECK errcode_t json_document_parse(const char *path, const char *action, const char *text, size_t bytes,
                                         json_object **ret, struct problem *problem);
