/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/editor_names.h"

errcode_t editor_name_hash(const struct editor_names *names, struct directory_name name, struct editor_name *ret)
{
	uint32_t minor;
	errcode_t error = directory_hash(&names->format, &name, names->is_casefolded, &ret->hash, &minor);

	/* The kernel hashes the plain bytes of a name that is not valid in the encoding. */
	if (error && names->is_casefolded)
		error = directory_hash(&names->format, &name, false, &ret->hash, &minor);
	ret->name = name;
	return error;
}
