/* settings_doc.c - every setting of the collector, from the table that its parser reads: as an example file, a table of docs/collect.md, or part
 * of a manual page. */
#include <stdio.h>
#include <string.h>

#include "fleet/settings.h"

/* The first letter of a sentence. */
static char capital(const char *text)
{
	return text[0] >= 'a' && text[0] <= 'z' ? (char)(text[0] - 'a' + 'A') : text[0];
}

static void example(const struct setting_def *d)
{
	printf("# %c%s%s.\n# Takes: %s.\n#%s =%s%s\n\n", capital(d->help), d->help + 1,
	       d->place == IN_BOTH ? " (also in [collect], for servers without their own)" : "",
	       d->bounds, d->key, d->preset[0] != '\0' ? " " : "", d->preset);
}

static void markdown(const struct setting_def *d)
{
	printf("| `%s` | %s%s%s | %s | %s |\n", d->key, d->preset[0] != '\0' ? "`" : "",
	       d->preset[0] != '\0' ? d->preset : "nothing", d->preset[0] != '\0' ? "`" : "",
	       d->bounds, d->help);
}

/* scdoc: underscores and stars of ours stand for themselves. */
static void put_plain(const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("_*`\\#~", *text) != NULL)
			putchar('\\');
		putchar(*text);
	}
}

static void manual(const struct setting_def *d)
{
	putchar('*');
	put_plain(d->key);
	printf("* = ");
	put_plain(d->preset);
	printf("\n\t");
	putchar(capital(d->help));
	put_plain(d->help + 1);
	printf(". Takes: ");
	put_plain(d->bounds);
	printf(".\n\n");
}

static const struct {
	const char *name;
	void (*print)(const struct setting_def *d);
	const char *heads[2]; /* before [collect], before [server] */
} kinds[] = {
	{ "example",
	  example,
	  { "# /etc/tare/tare.conf: what tare collect reads. Every key is here, with its preset; "
	    "remove the # to set it.\n"
	    "# A bad file is refused whole, with its line; systemctl reload tare-collect takes a "
	    "good one over, live. man tare.conf\n\n"
	    "[collect]\n\n",
	    "# One section a server. The least that it needs is a host; tare collect --grants "
	    "prints the SQL for its role.\n"
	    "[server \"shop-1\"]\n\n" } },
	{ "markdown",
	  markdown,
	  { "### `[collect]`\n\n| key | preset | takes | what it is |\n| --- | --- | --- | --- |\n",
	    "\n### `[server \"NAME\"]`, and all but `kind` and `host` in `[collect]` for servers "
	    "without their own\n\n"
	    "| key | preset | takes | what it is |\n| --- | --- | --- | --- |\n" } },
	{ "manual",
	  manual,
	  { "", "# KEYS OF A SERVER\n\nAll but *kind* and *host* may stand in [collect] too, for "
		"servers without their own.\n\n" } },
};

int main(int argc, char **argv)
{
	for (size_t k = 0; argc == 2 && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (strcmp(kinds[k].name, argv[1]) != 0)
			continue;
		for (int of_server = 0; of_server < 2; of_server++) {
			printf("%s", kinds[k].heads[of_server]);
			for (size_t i = 0; i < setting_def_count; i++)
				if ((setting_defs[i].place != IN_COLLECT) == (of_server != 0))
					kinds[k].print(&setting_defs[i]);
		}
		return 0;
	}
	fprintf(stderr, "usage: settings_doc example|markdown|manual\n");
	return 2;
}
