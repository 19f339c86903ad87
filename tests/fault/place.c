/* place.c - a test's own folder. */
#include "fault/place.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_below(struct place *p, const char *folder)
{
	snprintf(p->folder, sizeof(p->folder), "%s/tare-test-XXXXXX", folder);
	return mkdtemp(p->folder) != NULL;
}

bool place_make_on_disk(struct place *p)
{
	const char *below = getenv("TMPDIR");

	return make_below(p, below != NULL && below[0] == '/' ? below : "/tmp");
}

bool place_make(struct place *p)
{
	return make_below(p, "/dev/shm") || place_make_on_disk(p);
}

const char *place_file(struct place *p, const char *name)
{
	snprintf(p->path, sizeof(p->path), "%s/%s", p->folder, name);
	return p->path;
}

uint64_t place_bytes(struct place *p, const char *name)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	uint64_t bytes = 0;

	for (int i = 0; i < 4; i++) {
		char whole[PLACE_BYTES];
		struct stat st;

		snprintf(whole, sizeof(whole), "%s%s", name, suffixes[i]);
		if (stat(place_file(p, whole), &st) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

/* Calls `each` for every name in it; returns how many there are. */
static int for_each_file(struct place *p, int (*each)(const char *path))
{
	DIR *folder = opendir(p->folder);
	struct dirent *entry;
	int count = 0;

	if (folder == NULL)
		return -1;
	while ((entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (each != NULL)
			each(place_file(p, entry->d_name));
	}
	closedir(folder);
	return count;
}

int place_files(struct place *p)
{
	return for_each_file(p, NULL);
}

void place_empty(struct place *p)
{
	for_each_file(p, remove);
}

void place_remove(struct place *p)
{
	place_empty(p);
	rmdir(p->folder);
}
