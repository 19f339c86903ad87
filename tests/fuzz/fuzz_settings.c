/* fuzz_settings.c - the settings file, and URLs: any bytes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/settings.h"
#include "fuzz/fuzz.h"

static void parse_url(const uint8_t *bytes, size_t size)
{
	struct collect_settings s = { .store = NULL };
	struct err err = ERR_EMPTY;
	char *url = calloc(1, size + 1);
	size_t at, len;

	if (url == NULL)
		return;
	memcpy(url, bytes, size);
	settings_from_url(url, &s, &err);
	settings_free(&s);
	if (settings_url_hide(url) && settings_url_password(url, &at, &len))
		assert(strspn(url + at, "*") >= len);
	free(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct collect_settings s = { .store = NULL };
	struct err err = ERR_EMPTY;
	int rc = settings_parse((const char *)bytes, size, "file", &s, NULL, NULL, &err);

	assert((rc == 0) == (err.code == 0) && (rc == 0) == (s.store != NULL));
	settings_free(&s);
	parse_url(bytes, size);
	return 0;
}
