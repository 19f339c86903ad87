/* here.c - a writer in this process. */
#include "fault/here.h"

#include <stdlib.h>

#include "fault/writer.h"

int here_create(struct here *h, const char *path, uint64_t seed, uint64_t limit_bytes,
		struct err *err)
{
	struct shadow_settings settings = writer_shadow(seed, limit_bytes);
	struct store_limits limits = { limit_bytes, true };

	*h = (struct here){ .changes = CHANGES_EMPTY };
	h->shadow = shadow_open(&settings);
	if (h->shadow == NULL)
		abort();
	return store_sqlite.create(path, &limits, &h->db, err);
}

int here_save(struct here *h, uint32_t changes, struct store_saved *saved, struct err *err)
{
	struct label label = shadow_label(h->shadow, h->saves + 1);
	int rc;

	if (!h->is_unsaved)
		shadow_step(h->shadow, changes);
	changes_reset(&h->changes);
	if (!shadow_changes(h->shadow, &h->changes))
		abort();
	rc = store_sqlite.save(h->db, &label, &h->changes, saved, err);
	h->is_unsaved = rc != 0 || saved->is_paused;
	if (!h->is_unsaved) {
		h->saves++;
		shadow_saved(h->shadow);
	}
	return rc;
}

void here_close(struct here *h)
{
	store_sqlite.close(h->db);
	h->db = NULL;
}

void here_end(struct here *h)
{
	here_close(h);
	changes_free(&h->changes);
	shadow_close(h->shadow);
	*h = (struct here){ .changes = CHANGES_EMPTY };
}
