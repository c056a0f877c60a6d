/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading JSON, with json-c. support/text/json.h writes JSON. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "support/problem.h"

/*
 * Parses a text that is one document, with blanks around it; the caller releases it with json_object_put(). EINVAL:
 * not JSON; the problem says at which offset, with path and action. ENOMEM, also if json-c left out a part.
 */
MUST_CHECK errcode_t json_document_parse(const char *path, const char *action, const char *text, size_t bytes,
                                         json_object **ret, struct problem *problem);
