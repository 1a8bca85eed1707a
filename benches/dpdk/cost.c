/*
 * Measures the CPU time of an enqueue and a dequeue of DPDK's rte_red and rte_pie over a ring of packets, and of the
 * ring alone (tail drop), on the sequence that `cost --sequence FILE` writes; prints one line of JSON.
 * The method is that of benches/cost/src/main.rs: the smallest time of each stretch over the rounds.
 *
 * cc -O3 cost.c $(pkg-config --cflags --libs libdpdk); cost FILE ROUNDS LOAD...
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_pie.h>
#include <rte_red.h>

enum { STRETCH = 2048, WARM_UP = 16, MEASURED = 32, ARRIVALS = (WARM_UP + MEASURED) * STRETCH };
enum { SERVICE_NS_PER_BYTE = 400, RING = 512, FIFO_LIMIT = 100, AQM_LIMIT = 300 };
enum scheme { FIFO, RED, PIE, SCHEMES };

static const char *const names[SCHEMES] = { "fifo", "rte_red", "rte_pie" };
static const uint64_t idle = UINT64_MAX;

struct arrival {
	uint32_t gap_ns;
	uint16_t bytes;
	uint8_t flow, ecn;
};

/* As large as the packet that the library queues. */
struct packet {
	uint64_t enqueued_ns, serial;
	uint32_t bytes, flow, source, destination, window, rest[3];
};

struct host {
	struct packet ring[RING];
	uint32_t head, length;
	uint64_t now_ns, asks_ns, serial, dropped, dropped_bytes, forwarded_bytes;
	struct rte_red_config red_config;
	struct rte_red red;
	struct rte_pie_config pie_config;
	struct rte_pie pie;
};

static struct arrival arrivals[ARRIVALS];

/* rte_red counts idle time in steps of 2^22 of its clock: one step is a mean packet's time on the link. */
static inline uint64_t red_time(uint64_t ns)
{
	const uint64_t mean_service_ns = 390720;
	return ns * (RTE_RED_S / mean_service_ns);
}

static inline void dequeue(struct host *h, enum scheme scheme, uint64_t at_ns)
{
	if (h->length == 0) {
		h->asks_ns = idle;
		return;
	}
	const struct packet *p = &h->ring[h->head];
	h->head = (h->head + 1) % RING;
	h->length--;
	if (scheme == RED && h->length == 0)
		rte_red_mark_queue_empty(&h->red, red_time(at_ns));
	if (scheme == PIE) {
		rte_pie_dequeue(&h->pie, p->bytes, at_ns);
		h->pie.qlen--;
		h->pie.qlen_bytes -= p->bytes;
	}
	h->forwarded_bytes += p->bytes;
	h->asks_ns = at_ns + (uint64_t)p->bytes * SERVICE_NS_PER_BYTE;
}

static inline int refused(struct host *h, enum scheme scheme, uint32_t bytes)
{
	switch (scheme) {
	case RED:
		return rte_red_enqueue(&h->red_config, &h->red, h->length, red_time(h->now_ns)) != 0 ||
		       h->length >= AQM_LIMIT;
	case PIE:
		return rte_pie_enqueue(&h->pie_config, &h->pie, h->length, bytes, h->now_ns) != 0;
	default:
		return h->length >= FIFO_LIMIT;
	}
}

static inline __attribute__((always_inline)) void stretch(struct host *h, enum scheme scheme, const struct arrival *a,
							   uint64_t gap_scale)
{
	for (const struct arrival *end = a + STRETCH; a < end; a++) {
		h->now_ns += (a->gap_ns * gap_scale) >> 16;
		while (h->asks_ns <= h->now_ns)
			dequeue(h, scheme, h->asks_ns);
		h->serial++;
		if (refused(h, scheme, a->bytes)) {
			h->dropped++;
			h->dropped_bytes += a->bytes;
		} else {
			const uint32_t flow = (a->flow + 1U) * 0x9E3779B1U;
			h->ring[(h->head + h->length++) % RING] = (struct packet){
				.enqueued_ns = h->now_ns, .serial = h->serial, .bytes = a->bytes, .flow = flow,
				.source = flow ^ 0x5bd1e995U, .destination = flow << 16 | flow >> 16,
				.window = 1U + (a->flow & 31U) };
		}
		if (h->asks_ns == idle)
			dequeue(h, scheme, h->now_ns);
	}
}

/* Three loops that the compiler specialises, none of which asks for the scheme. */
static void run(struct host *h, enum scheme scheme, const struct arrival *a, uint64_t gap_scale)
{
	if (scheme == RED)
		stretch(h, RED, a, gap_scale);
	else if (scheme == PIE)
		stretch(h, PIE, a, gap_scale);
	else
		stretch(h, FIFO, a, gap_scale);
}

static uint64_t cpu_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static void fresh(struct host *h)
{
	memset(h, 0, sizeof *h);
	h->asks_ns = idle;
	/* wq 1/512, min 30, max 90, max_p 1/10: near the library's `red min 30p max 90p`. */
	if (rte_red_rt_data_init(&h->red) != 0 || rte_red_config_init(&h->red_config, 9, 30, 90, 10) != 0 ||
	    rte_pie_rt_data_init(&h->pie) != 0)
		exit(2);
	/* RFC 8033's values; its times are in units of the clock that rte_pie is given, here ns. */
	h->pie_config = (struct rte_pie_config){ .qdelay_ref = 15000000, .dp_update_interval = 15000000,
						 .max_burst = 150000000, .tailq_th = AQM_LIMIT };
}

int main(int argc, char **argv)
{
	static struct host h;
	static uint64_t smallest_ns[16][SCHEMES][MEASURED];
	static double dropped[16][SCHEMES];
	const int loads = argc - 3;
	if (loads < 1 || loads > 16) {
		fprintf(stderr, "usage: cost FILE ROUNDS LOAD...\n");
		return 2;
	}
	FILE *file = fopen(argv[1], "rb");
	if (file == NULL || fread(arrivals, sizeof arrivals[0], ARRIVALS, file) != ARRIVALS) {
		fprintf(stderr, "%s: not the sequence of %d arrivals\n", argv[1], ARRIVALS);
		return 2;
	}
	fclose(file);
	memset(smallest_ns, 0xff, sizeof smallest_ns);
	for (long round = strtol(argv[2], NULL, 10); round > 0; round--)
		for (int load = 0; load < loads; load++)
			for (int scheme = FIFO; scheme < SCHEMES; scheme++) {
				const uint64_t gap_scale = (uint64_t)(65536.0 / strtod(argv[3 + load], NULL));
				uint64_t warm = 0;
				fresh(&h);
				for (int i = 0; i < WARM_UP + MEASURED; i++) {
					const uint64_t start_ns = cpu_ns();
					run(&h, scheme, arrivals + i * STRETCH, gap_scale);
					const uint64_t ns = cpu_ns() - start_ns;
					if (i == WARM_UP - 1)
						warm = h.dropped;
					if (i >= WARM_UP && ns < smallest_ns[load][scheme][i - WARM_UP])
						smallest_ns[load][scheme][i - WARM_UP] = ns;
				}
				dropped[load][scheme] = (double)(h.dropped - warm) / (MEASURED * STRETCH);
			}
	for (int load = 0; load < loads; load++)
		for (int scheme = FIFO; scheme < SCHEMES; scheme++) {
			uint64_t total_ns = 0;
			for (int i = 0; i < MEASURED; i++)
				total_ns += smallest_ns[load][scheme][i];
			printf("%s{\"scheme\": \"%s\", \"load\": %s, \"ns_per_packet\": %.2f, \"dropped\": %.4f}",
			       load + scheme == 0 ? "[" : ", ", names[scheme], argv[3 + load],
			       (double)total_ns / (MEASURED * STRETCH), dropped[load][scheme]);
		}
	printf("]\n");
	return 0;
}
