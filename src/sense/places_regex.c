/* places_regex.c - regular expressions behind a ceiling. */
#include "sense/places_regex.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/units.h"

#define RENEW_BYTES 32768u /* its automaton grows with what it reads: begin anew then */
#define CLOCK_EVERY 64u	   /* searches between two looks at the clock */
#define CLOCK_BYTES 512u   /* but longer names always */

/* A number of "{n,m}" at `*at`, and what it does to all repeats together. */
static uint64_t read_repeat(const char **at)
{
	uint64_t number = 0, most = 1;

	for (++*at; (**at >= '0' && **at <= '9') || **at == ','; ++*at) {
		number = **at == ',' ? 0 : number * 10 + (uint64_t)(**at - '0');
		most = number > most ? number : most;
		if (most > REGEX_MAX_REPEATS)
			break;
	}
	--*at;
	return most;
}

static int check(const char *text, struct err *err)
{
	uint64_t repeats = 1;

	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '\\' && at[1] != '\0') {
			at++;
			if (*at >= '1' && *at <= '9')
				return err_set(err, -EINVAL,
					       "cannot read pattern '/%s/': \\%c looks back, which "
					       "can take for ever",
					       text, *at);
		} else if (*at == '{') {
			repeats *= read_repeat(&at);
		}
		if (repeats > REGEX_MAX_REPEATS)
			return err_set(err, -EINVAL,
				       "cannot read pattern '/%s/': it repeats more than %u times",
				       text, REGEX_MAX_REPEATS);
	}
	return 0;
}

static int compile(struct regex *r, struct err *err)
{
	char why[128];
	int rc = regcomp(&r->compiled, r->text, REG_EXTENDED | REG_NOSUB);

	if (rc == REG_ESPACE)
		return err_set(err, -ENOMEM, "cannot read pattern '/%s/': no memory", r->text);
	if (rc != 0) {
		regerror(rc, &r->compiled, why, sizeof(why));
		return err_set(err, -EINVAL, "cannot read pattern '/%s/': %s", r->text, why);
	}
	r->is_open = true;
	r->bytes = 0;
	return 0;
}

int regex_open(struct str text, struct regex *out, struct err *err)
{
	struct regex r = { .is_open = false };
	int rc;

	if (text.len > REGEX_MAX_BYTES)
		return err_set(err, -EINVAL, "cannot read pattern: longer than %u bytes",
			       REGEX_MAX_BYTES);
	memcpy(r.text, text.bytes, text.len);
	rc = check(r.text, err);
	if (rc == 0)
		rc = compile(&r, err);
	if (rc == 0)
		*out = r;
	return rc;
}

void regex_close(struct regex *r)
{
	if (r->is_open)
		regfree(&r->compiled);
	r->is_open = false;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Runs it, and now and then takes the time. */
static bool search(struct regex *r, const char *name, size_t len)
{
	bool is_long = len > CLOCK_BYTES, is_timed = r->searches++ % CLOCK_EVERY == 0 || is_long;
	uint64_t start_ns = is_timed ? cpu_ns() : 0;
	bool is_found = regexec(&r->compiled, name, 0, NULL, 0) == 0;

	if (is_timed)
		r->spent_ns += (cpu_ns() - start_ns) * (is_long ? 1 : CLOCK_EVERY);
	r->is_over = r->spent_ns > REGEX_MAX_NS;
	return is_found;
}

bool regex_takes(struct regex *r, struct str name)
{
	char text[STR_MAX_BYTES + 1];

	if (r->is_over || !r->is_open || name.len > STR_MAX_BYTES)
		return false;
	if (r->bytes > RENEW_BYTES) {
		regex_close(r);
		if (compile(r, NULL) < 0)
			return false;
	}
	r->bytes += name.len;
	memcpy(text, name.bytes, name.len);
	text[name.len] = '\0';
	return search(r, text, name.len);
}
