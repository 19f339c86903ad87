/* findings_row.c - rows of findings, whatever rules fill them. */
#include <errno.h>

#include "core/findings.h"
#include "core/units.h"

static bool is_whole(const struct finding *f)
{
	return !f->title.has_failed && !f->evidence.has_failed && !f->look_next.has_failed;
}

int findings_take(struct findings *out, const char *id, struct err *err)
{
	struct finding *row = &out->rows[out->count++];

	row->id = id;
	if (is_whole(row))
		return 0;
	findings_free(out);
	return err_set(err, -ENOMEM, "cannot write the findings: out of memory");
}

bool findings_say_unfinished(const struct label *label, const char *missing, struct finding *out)
{
	char saved[64];

	if (label->is_finished)
		return false;
	units_format_wall((struct wall){ label->saved_wall_ns }, saved, sizeof(saved));
	text_put(&out->title, "The recording is unfinished");
	text_printf(&out->evidence, "It was last saved at %s, ", saved);
	text_put_duration(&out->evidence, label->elapsed_ns);
	text_printf(&out->evidence, " after its start. %s", missing);
	if (label->writer_pid != 0)
		text_printf(&out->look_next,
			    "Look next at process %u: it still records, or it was killed.",
			    label->writer_pid);
	else
		text_put(&out->look_next, "Look next at what ended the recorder.");
	return true;
}

static void finding_free(struct finding *f)
{
	text_free(&f->title);
	text_free(&f->evidence);
	text_free(&f->look_next);
}

void findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		finding_free(&f->rows[i]);
	f->count = 0;
}
