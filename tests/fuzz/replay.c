/* replay.c - plays every file of a folder, and the empty input, through one fuzz target. Fails when there is no
 * file, or when one input takes over a second of CPU (five with sanitizers, which slow everything). */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz/fuzz.h"

#define MAX_INPUT_BYTES (16u << 20)

#ifdef __SANITIZE_ADDRESS__
#define MAX_CPU_S 5.0
#else
#define MAX_CPU_S 1.0
#endif

static bool play(const char *name, const uint8_t *bytes, size_t size)
{
	clock_t from = clock();
	double cpu_s;

	LLVMFuzzerTestOneInput(bytes, size);
	cpu_s = (double)(clock() - from) / CLOCKS_PER_SEC;
	if (cpu_s <= MAX_CPU_S)
		return true;
	printf("%s: took %.1f s of CPU, more than %.1f\n", name, cpu_s, MAX_CPU_S);
	return false;
}

static bool play_file(const char *folder, const char *name)
{
	char path[4096];
	struct stat st;
	FILE *file;
	uint8_t *bytes;
	size_t size;
	bool is_good = false;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "rb");
	if (file == NULL || fstat(fileno(file), &st) != 0 || st.st_size > MAX_INPUT_BYTES) {
		printf("cannot read '%s'\n", path);
		if (file != NULL)
			fclose(file);
		return false;
	}
	/* Exactly as long as the input, so that a sanitizer sees one byte too far. */
	bytes = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
	if (bytes != NULL) {
		size = fread(bytes, 1, (size_t)st.st_size, file);
		is_good = size == (size_t)st.st_size && play(path, bytes, size);
	}
	free(bytes);
	fclose(file);
	return is_good;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	size_t files = 0, bad = 0;
	DIR *folder;

	if (argc != 2)
		return 2;
	folder = opendir(argv[1]);
	if (folder == NULL) {
		printf("cannot open '%s': %s\n", argv[1], strerror(errno));
		return 2;
	}
	bad += !play("the empty input", (const uint8_t *)"", 0);
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		files++;
		bad += !play_file(argv[1], entry->d_name);
	}
	closedir(folder);
	printf("%zu inputs, %zu bad\n", files + 1, bad);
	return files == 0 || bad > 0;
}
