/* viewer.h - the viewer: what a page carries to draw itself, bundled by web/build.mjs. */
#ifndef TARE_CLI_VIEWER_H
#define TARE_CLI_VIEWER_H

#include <stddef.h>

/* A script or the style. */
struct viewer_part {
	const char *name; /* "style", or the script of a kind of page: "record" */
	const char *bytes;
	size_t len;
	const char *hash; /* of the bytes, as a content security policy says it: "sha256-..." */
};

/* All of them; none in a build without a viewer. */
extern const struct viewer_part viewer_parts[];
extern const size_t viewer_part_count;

#endif
