/* collect_store_url.c - opening a store whose password is a reference: it is in memory for as long as opening takes. */
#include <errno.h>
#include <string.h>

#include "cli/collect_store_parts.h"

/* Appends `text` to a URL as the value of a parameter. */
static void put_encoded(struct text *url, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
		char three[3] = { '%', hex[*at >> 4], hex[*at & 15] };

		text_add(url, three, sizeof(three));
	}
}

int store_open_with(const struct fleet_store_ops *ops, const char *url, const char *password,
		    enum fleet_access access, void **out_db, struct err *err)
{
	struct text whole = TEXT_EMPTY;
	char *secret = NULL;
	int rc = 0;

	text_put(&whole, url);
	if (password[0] != '\0') {
		rc = secret_read(password, "store_password", "the store", &secret, err);
		if (rc == 0) {
			text_put(&whole, strchr(url, '?') != NULL ? "&password=" : "?password=");
			put_encoded(&whole, secret);
		}
	}
	if (rc == 0 && whole.has_failed)
		rc = err_set(err, -ENOMEM, "cannot open the store: no memory");
	if (rc == 0)
		rc = ops->open(text_chars(&whole), access, out_db, err);
	secret_free(&secret);
	if (whole.bytes != NULL)
		explicit_bzero(whole.bytes, whole.room);
	text_free(&whole);
	return rc;
}

int collect_store_read(const char *url, const char *password,
		       const struct fleet_store_ops **out_ops, void **out_db, struct err *err)
{
	int rc = fleet_store_find(url, out_ops, err);

	return rc < 0 ? rc : store_open_with(*out_ops, url, password, FLEET_READ, out_db, err);
}
