// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/inline_content.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/inline_data.h"
#include "populate/metadata/directory_view.h"
#include "populate/metadata/flags.h"
#include "source/host/content_reader.h"

errcode_t inline_content_open(struct inline_content *content, const struct build *build,
                              struct content_reader *reader)
{
	*content = (struct inline_content){ .build = build, .reader = reader };
	if (!build->format.inline_data)
		return 0;
	/* Not even the largest value is as large as the inode. */
	content->data = malloc(build->format.inode_bytes);
	content->area = malloc(inode_xattr_area_bytes(&build->format));
	return content->data && content->area ? 0 : ENOMEM;
}

void inline_content_close(struct inline_content *content)
{
	free(content->data);
	free(content->area);
	*content = (struct inline_content){ 0 };
}

static errcode_t read_file(struct inline_content *content, uint32_t node, uint64_t bytes, struct problem *problem)
{
	errcode_t error = content_reader_open(content->reader, node, problem);

	if (!error && flags_are_missing(content->build, node))
		flags_note(content->build, node, content_reader_flags(content->reader));
	return error ? error : content_reader_read(content->reader, content->data, bytes, 0, problem);
}

static errcode_t build_directory(struct inline_content *content, uint32_t node, uint32_t room_bytes, uint32_t *bytes)
{
	const struct build *build = content->build;
	struct directory_view view;

	const struct directory_source source = directory_view_open(&view, build, node);

	*bytes = directory_inline_bytes(&source, room_bytes);
	return directory_build_inline(&build->format, &source, build->placements[build_node(build, node)->parent].ino,
	                              content->data, *bytes);
}

errcode_t inline_content_describe(struct inline_content *content, uint32_t node, struct inode_value *value,
                                  const void **area, uint64_t *file_bytes, struct problem *problem)
{
	const struct build *build = content->build;
	const struct tree_node *source = build_node(build, node);
	const struct xattr_store *xattrs = &build->xattrs[source->xattrs];
	size_t area_bytes = inode_xattr_area_bytes(&build->format);
	uint32_t bytes = (uint32_t)source->size_bytes;
	errcode_t error = 0;

	*file_bytes = 0;
	if (S_ISDIR(source->mode)) {
		error = build_directory(content, node, xattrs->inline_room_bytes, &bytes);
	} else if (S_ISLNK(source->mode)) {
		memcpy(content->data, source->target, bytes);
	} else {
		error = read_file(content, node, bytes, problem);
		*file_bytes = bytes;
	}
	if (error)
		return error;
	if (xattrs->inode_area)
		memcpy(content->area, xattrs->inode_area, area_bytes);
	else
		memset(content->area, 0, area_bytes);
	value->size_bytes = bytes;
	value->flags |= flags_of(build, node) | EXT4_INLINE_DATA_FL;
	inline_data_encode(&build->format, content->data, bytes, value->root, content->area);
	*area = content->area;
	return 0;
}
