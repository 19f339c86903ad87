/* settings_set.c - one value, as it is typed, into the struct that holds it. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fleet.h"
#include "core/units.h"
#include "fleet/settings.h"

#define TEXT_MOST 1024 /* bytes of a value */

static int copy_text(const char *value, char **out)
{
	char *copy = strdup(value);

	if (copy == NULL)
		return -ENOMEM;
	if (*out != NULL)
		explicit_bzero(*out, strlen(*out));
	free(*out);
	*out = copy;
	return 0;
}

/* Is `word` one of those in `words`, parted by blanks? */
static bool is_one_of(const char *words, const char *word)
{
	size_t len = strlen(word);

	if (len == 0)
		return words[0] == ' ';
	for (const char *at = words; *at != '\0'; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strncmp(at, word, len) == 0 && (at[len] == ' ' || at[len] == '\0'))
			return true;
	}
	return false;
}

static int check_port(const char *text)
{
	uint64_t port;
	int rc = units_parse_count(text, &port);

	if (rc < 0)
		return rc;
	return port >= 1 && port <= 65535 ? 0 : -ERANGE;
}

/* "127.0.0.1:9497" or "[::1]:9497". */
static int check_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	struct in_addr four;
	struct in6_addr six;
	char host[64];
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	if (text[0] == '\0')
		return 0;
	if (len == 0 || len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &six) != 1 || !IN6_IS_ADDR_LOOPBACK(&six))
			return -EINVAL;
	} else if (inet_pton(AF_INET, host, &four) != 1 || ntohl(four.s_addr) >> 24 != 127) {
		return -EINVAL;
	}
	return check_port(colon + 1);
}

static int check_text(const struct setting_def *def, const char *value)
{
	if (strlen(value) > TEXT_MOST)
		return -ERANGE;
	for (const char *at = value; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return -EINVAL;
	switch (def->type) {
	case SETTING_PATH:
		return value[0] == '\0' || value[0] == '/' ? 0 : -EINVAL;
	case SETTING_ADDRESS:
		return check_address(value);
	case SETTING_PORT:
		return check_port(value);
	case SETTING_WORD:
		return is_one_of(def->words, value) ? 0 : -EINVAL;
	default: /* what has a preset cannot be nothing */
		return value[0] == '\0' && def->preset[0] != '\0' ? -EINVAL : 0;
	}
}

static int parse_number(const struct setting_def *def, const char *value, uint64_t *out)
{
	uint64_t number;
	int rc;

	if (def->type == SETTING_DURATION)
		rc = units_parse_duration(value, &number);
	else if (def->type == SETTING_SIZE)
		rc = units_parse_size(value, &number);
	else
		rc = units_parse_count(value, &number);
	if (rc < 0)
		return rc;
	if (number < def->least || number > def->most)
		return -ERANGE;
	*out = number;
	return 0;
}

static int parse_whole(const char *value, int64_t *out)
{
	bool is_negative = value[0] == '-';
	uint64_t number;
	int rc = units_parse_count(value + is_negative, &number);

	if (rc < 0)
		return rc;
	if (number > INT64_MAX)
		number = INT64_MAX; /* it is clamped anyway */
	*out = is_negative ? -(int64_t)number : (int64_t)number;
	return 0;
}

static int parse_switch(const char *value, bool *out)
{
	bool is_yes = is_one_of("yes on true", value);

	if (value[0] == '\0' || (!is_yes && !is_one_of("no off false", value)))
		return -EINVAL;
	*out = is_yes;
	return 0;
}

/* Words of readings into bits; plans are a switch of their own. */
static int parse_readings(const char *value, uint32_t *out)
{
	uint32_t bits = 0;

	for (const char *at = value; *at != '\0';) {
		size_t len = strcspn(at, " ,\t");
		uint32_t found = 0;

		for (uint32_t id = 0; id < READING_COUNT && len > 0; id++)
			if (id != READING_PLANS && strlen(reading_name(id)) == len &&
			    strncmp(reading_name(id), at, len) == 0)
				found = UINT32_C(1) << id;
		if (len == 3 && strncmp(at, "all", 3) == 0)
			found = ((UINT32_C(1) << READING_COUNT) - 1) &
				~(UINT32_C(1) << READING_PLANS);
		if (len > 0 && found == 0)
			return -EINVAL;
		bits |= found;
		at += len;
		at += strspn(at, " ,\t");
	}
	if (bits == 0)
		return -EINVAL;
	*out = bits;
	return 0;
}

static int set_number(const struct setting_def *def, const char *value, char *at)
{
	uint64_t number = 0;
	int rc = parse_number(def, value, &number);

	if (rc < 0)
		return rc;
	if (def->type == SETTING_U32)
		*(uint32_t *)(void *)at = (uint32_t)number;
	else
		*(uint64_t *)(void *)at = number;
	return 0;
}

int setting_set(const struct setting_def *def, const char *value, void *held)
{
	char *at = (char *)held + def->offset;
	int rc;

	switch (def->type) {
	case SETTING_DURATION:
	case SETTING_SIZE:
	case SETTING_COUNT:
	case SETTING_U32:
		return set_number(def, value, at);
	case SETTING_WHOLE:
		return parse_whole(value, (int64_t *)(void *)at);
	case SETTING_SWITCH:
		return parse_switch(value, (bool *)at);
	case SETTING_READINGS:
		return parse_readings(value, (uint32_t *)(void *)at);
	default:
		rc = check_text(def, value);
		return rc < 0 ? rc : copy_text(value, (char **)(void *)at);
	}
}
