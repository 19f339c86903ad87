/* report_page.c - a page's frame: what stands in it before any script runs, its policy, its data, and the way to its file. */
#include "cli/report_page.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/viewer.h"
#include "core/scoped.h"
#include "store/target.h"

static const struct viewer_part *part_of(const char *name)
{
	for (size_t i = 0; i < viewer_part_count; i++)
		if (strcmp(viewer_parts[i].name, name) == 0)
			return &viewer_parts[i];
	return NULL;
}

static const struct viewer_part *script_of(const struct page_kind *kind)
{
	return part_of(kind->script != NULL ? kind->script : kind->instrument);
}

static int no_viewer(struct err *err)
{
	err_set(err, -ENOTSUP, "cannot write a page: this tare was built without its viewer");
	err_works(err, "tare report shows the same in the terminal, and --json writes it all");
	return err_mend(err, "build it where npm is: ./dev build");
}

/* ---- data ---- */

static int to_text(void *owner, const char *bytes, size_t len)
{
	struct text *t = owner;

	text_add(t, bytes, len);
	return t->has_failed ? -ENOMEM : 0;
}

/* How many bytes of `at` would end the element, begin a comment in it or end a line of a script, and what stands for them. */
static size_t special(const char *at, size_t len, const char **out)
{
	static const struct {
		const char *bytes, *escape;
	} all[] = {
		{ "<", "\\u003c" },
		{ ">", "\\u003e" },
		{ "&", "\\u0026" },
		{ "\xe2\x80\xa8", "\\u2028" },
		{ "\xe2\x80\xa9", "\\u2029" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strlen(all[i].bytes) <= len &&
		    memcmp(at, all[i].bytes, strlen(all[i].bytes)) == 0) {
			*out = all[i].escape;
			return strlen(all[i].bytes);
		}
	return 0;
}

/* All five stand in strings only, where JSON lets them be written so. */
static void put_json(struct text *t, const struct text *json)
{
	size_t from = 0;

	for (size_t i = 0; i < json->len;) {
		const char *escape = NULL;
		size_t len = special(json->bytes + i, json->len - i, &escape);

		if (len == 0) {
			i++;
			continue;
		}
		text_add(t, json->bytes + from, i - from);
		text_put(t, escape);
		i += len;
		from = i;
	}
	text_add(t, json->bytes + from, json->len - from);
}

static int make_data(struct text *out, const struct page *p, struct err *err)
{
	SCOPED(text_free) struct text raw = TEXT_EMPTY;
	struct json j;
	int code;

	json_begin(&j, to_text, &raw, 1);
	json_open_object(&j);
	json_put_chars(&j, "kind", p->kind->instrument);
	code = p->kind->put_data(&j, p, err);
	json_close(&j);
	if (code == 0)
		code = report_failed(json_end(&j), err);
	if (code == 0)
		put_json(out, &raw);
	return code != 0 ? code : out->has_failed ? report_failed(-ENOMEM, err) : 0;
}

/* ---- the frame ---- */

static void put_policy(struct text *t, const struct viewer_part *style,
		       const struct viewer_part *script)
{
	text_put(t, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "script-src '");
	text_put(t, script->hash);
	text_put(t, "'; style-src '");
	text_put(t, style->hash);
	text_put(t, "'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
}

static void put_part(struct text *t, const char *element, const struct viewer_part *part)
{
	text_printf(t, "<%s>", element);
	text_add(t, part->bytes, part->len);
	text_printf(t, "</%s>\n", element);
}

static void put_begin(struct text *t, const struct page *p)
{
	SCOPED(text_free) struct text title = TEXT_EMPTY;
	const struct viewer_part *style = part_of("style");

	p->kind->put_title(&title, p);
	text_put(t, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	put_policy(t, style, script_of(p->kind));
	text_put(t, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	page_put_text(t, text_chars(&title));
	text_printf(t, " · tare %s</title>\n", p->kind->instrument);
	put_part(t, "style", style);
	text_put(t, "</head>\n<body>\n");
	t->has_failed |= title.has_failed;
}

/* The script puts the links of its own sections before the first. */
static void put_bar(struct text *t, const struct page *p)
{
	text_printf(
		t,
		"<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n"
		"<header class=\"bar\"><div class=\"mark\"><span aria-hidden=\"true\">→0←</span>"
		"tare %s</div>\n<nav aria-label=\"Sections\" id=\"sections\">"
		"<a href=\"#findings\">Findings <b>%zu</b></a>",
		p->kind->instrument, p->findings->count);
	if (p->kind->put_links != NULL)
		p->kind->put_links(t, p);
	text_put(t, "<a href=\"#ledger\">Ledger</a></nav>\n</header>\n");
}

static void put_head(struct text *t, const struct page *p)
{
	text_put(t, "<main>\n<div class=\"top\"><div>\n<p class=\"what\">");
	p->kind->put_what(t, p);
	text_put(t, "</p>\n<h1 class=\"verdict\">");
	p->kind->put_verdict(t, p);
	text_put(t, "</h1>\n");
	if (p->kind->put_scale != NULL) {
		text_put(t, "<div class=\"scale\">");
		p->kind->put_scale(t, p);
		text_put(t, "</div>\n");
	}
	text_put(t, "<ul class=\"lead\">\n");
	p->kind->put_leads(t, p);
	text_put(t, "</ul>\n");
	if (p->kind->put_first != NULL) {
		text_put(t, "<div class=\"first wide\" tabindex=\"0\" role=\"region\" "
			    "aria-label=\"The five largest\">");
		p->kind->put_first(t, p);
		text_put(t, "</div>");
	}
	text_put(t, "</div>\n<div class=\"label\" role=\"region\" aria-labelledby=\"label\">");
	p->kind->put_label(t, p);
	text_put(t, "</div></div>\n");
}

static void put_plain(struct text *t, const struct page *p)
{
	text_put(t, "<div id=\"charts\"></div>\n<noscript>\n<p class=\"what\">Charts need a "
		    "script; the "
		    "tables are below.</p>\n");
	if (p->kind->put_plain != NULL)
		p->kind->put_plain(t, p);
	text_put(t, "</noscript>\n");
}

static void put_finding(struct text *t, const struct finding *f, size_t number)
{
	text_printf(t, "<article id=\"finding-%zu\"><span class=\"n\">%zu</span><div><h3>", number,
		    number);
	page_put_words(t, text_chars(&f->title), NULL);
	text_put(t, "</h3><p>");
	page_put_words(t, text_chars(&f->evidence), NULL);
	text_put(t, "</p><p>");
	page_put_words(t, text_chars(&f->look_next), NULL);
	text_put(t, "</p></div></article>\n");
}

static void put_findings(struct text *t, const struct findings *f)
{
	text_put(t, "<section id=\"findings\"><header><h2>Findings</h2><p>Pointers, not proofs.</p>"
		    "</header><div class=\"sheet find\">\n");
	if (f->count == 0)
		text_put(t, "<article><span class=\"n\">0</span><div><p>Nothing stands "
			    "out.</p></div></article>\n");
	for (size_t i = 0; i < f->count; i++)
		put_finding(t, &f->rows[i], i + 1);
	text_put(t, "</div></section>\n");
}

static void put_end(struct text *t, const struct page *p, const struct text *data)
{
	const char *slash = strrchr(p->path, '/');
	const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : p->path;

	text_put(t, "<section id=\"ledger\"><header><h2>Ledger</h2><p>");
	page_put_text(t, p->kind->proof);
	text_put(t, "</p></header><div class=\"sheet wide\" tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Ledger\">\n");
	p->kind->put_ledger(t, p);
	text_put(t, "</div></section>\n<footer><span>");
	page_put_name(t, (struct str){ name, (uint32_t)strlen(name) }, PAGE_MOST_NAME);
	text_put(t, "</span>");
	if (p->kind->put_foot != NULL)
		p->kind->put_foot(t, p);
	text_printf(t,
		    "<span>tare %s</span><span>One file. It asks nothing of the network.</span>"
		    "</footer>\n</main>\n<script type=\"application/json\" id=\"data\">\n",
		    TARE_VERSION);
	text_add(t, text_chars(data), data->len);
	text_put(t, "</script>\n");
	put_part(t, "script", script_of(p->kind));
	text_put(t, "</body>\n</html>\n");
}

static int make_page(struct text *t, const struct page *p, struct err *err)
{
	SCOPED(text_free) struct text data = TEXT_EMPTY;
	int code = make_data(&data, p, err);

	if (code != 0)
		return code;
	put_begin(t, p);
	put_bar(t, p);
	put_head(t, p);
	put_plain(t, p);
	put_findings(t, p->findings);
	if (p->kind->put_sections != NULL)
		p->kind->put_sections(t, p);
	put_end(t, p, &data);
	return t->has_failed ? report_failed(-ENOMEM, err) : 0;
}

/* Halves the rows until it fits. */
static int make_fitting(struct text *t, struct page *p, struct err *err)
{
	size_t most = p->kind->most_bytes > 0 ? p->kind->most_bytes : PAGE_MOST_BYTES;
	int code;

	for (p->halvings = 0; p->halvings <= PAGE_MOST_HALVINGS; p->halvings++) {
		text_clear(t);
		code = make_page(t, p, err);
		if (code != 0 || t->len <= most)
			return code;
	}
	err_set(err, -E2BIG, "cannot write a page: it would have %zu bytes, and may have %zu",
		t->len, most);
	return err_works(err,
			 "tare report shows the same in the terminal, and --json writes it all");
}

/* ---- its file ---- */

/* A page must not take the place of what it was made from, --force or not. */
static int is_other(const char *path, const char *recording, struct err *err)
{
	struct stat to, from;

	if (stat(path, &to) != 0 || stat(recording, &from) != 0 || to.st_ino != from.st_ino ||
	    to.st_dev != from.st_dev)
		return 0;
	err_set(err, -EINVAL, "cannot write the page to '%s': that is the recording", path);
	return err_mend(err, "give the page another name");
}

static int cannot_write(const char *path, struct err *err)
{
	int code = -errno;

	err_set(err, code, "cannot write '%s': %s", path, strerror(-code));
	return err_works(err,
			 "the recording is untouched, and so is what was there under that name");
}

static int write_all(int fd, const struct text *t, const char *path, struct err *err)
{
	for (size_t at = 0; at < t->len;) {
		ssize_t n = write(fd, t->bytes + at, t->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cannot_write(path, err);
		at += (size_t)n;
	}
	return fsync(fd) != 0 ? cannot_write(path, err) : 0;
}

static void say_written(struct app *app, const char *path, size_t bytes)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;

	text_put(&line, "page: ");
	text_put_name(&line, (struct str){ path, (uint32_t)strlen(path) });
	text_put(&line, ", ");
	text_put_size(&line, bytes);
	if (!app->has_utf8)
		text_make_ascii(&line);
	fprintf(app->talk, "%s\n", text_chars(&line));
}

int page_write(struct app *app, struct page *p, const struct report_opts *opts, struct err *err)
{
	SCOPED(text_free) struct text html = TEXT_EMPTY;
	SCOPED(target_close) struct target target = TARGET_EMPTY;
	int code;

	if (part_of("style") == NULL || script_of(p->kind) == NULL)
		return no_viewer(err);
	code = is_other(opts->html, p->path, err);
	if (code == 0)
		code = make_fitting(&html, p, err);
	if (code == 0)
		code = target_open(&target, opts->html, opts->may_overwrite, err);
	if (code == 0)
		code = write_all(target.fd, &html, opts->html, err);
	if (code == 0)
		code = target_publish(&target, opts->may_overwrite, err);
	if (code == 0)
		say_written(app, opts->html, html.len);
	return code;
}
