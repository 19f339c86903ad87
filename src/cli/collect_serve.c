/* collect_serve.c - the page for Prometheus: who asks waits until the main thread has made it. A page is at most a second old, so that asking often
 * costs next to nothing. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/collect_daemon.h"
#include "cli/collect_store_parts.h"

#define FRESH_NS NS_PER_S
#define WAIT_S	 3

/* On a thread of the server's. */
static int give_page(void *owner, struct text *out)
{
	struct published *p = owner;
	uint64_t one = 1, number;
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&p->lock);
	number = p->number;
	if (number == 0 || mono_elapsed_ns(p->at, store_now()) >= FRESH_NS) {
		p->is_wanted = true;
		if (write(p->wake, &one, sizeof(one)) < 0)
			rc = -errno;
		while (rc == 0 && p->number == number && !p->is_closed)
			rc = -pthread_cond_timedwait(&p->made, &p->lock, &until);
	}
	if (rc == 0 && p->is_closed)
		rc = -ESHUTDOWN;
	if (rc == 0)
		text_add(out, text_chars(&p->page), p->page.len);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void daemon_publish(struct daemon *d)
{
	struct published *p = &d->published;
	struct text page = TEXT_EMPTY;
	struct runner_server *servers = NULL;
	struct collect_status status;
	bool is_wanted;

	if (d->metrics == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	is_wanted = p->is_wanted;
	pthread_mutex_unlock(&p->lock);
	if (!is_wanted || daemon_status(d, &status, &servers) < 0)
		return;
	collect_metrics_text(&status, &page);
	free(servers);
	pthread_mutex_lock(&p->lock);
	text_free(&p->page);
	p->page = page;
	p->is_wanted = false;
	p->at = store_now();
	p->number++;
	pthread_cond_broadcast(&p->made);
	pthread_mutex_unlock(&p->lock);
}

int daemon_serve(struct daemon *d, struct err *err)
{
	const char *address = d->fleet.settings.metrics;

	if (address[0] == '\0')
		return 0;
	pthread_cond_init(&d->published.made, NULL);
	return metrics_open(address, give_page, &d->published, &d->metrics, err);
}

void daemon_serve_no_more(struct daemon *d)
{
	struct published *p = &d->published;

	if (d->metrics == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->is_closed = true;
	pthread_cond_broadcast(&p->made);
	pthread_mutex_unlock(&p->lock);
	metrics_close(d->metrics);
	d->metrics = NULL;
	pthread_cond_destroy(&p->made);
	text_free(&p->page);
}
