/*
 * What the device needs of DPDK: bursts in and out by copies, so that frames stay in the device's own pool.
 *
 * Where DPDK has worker cores, they receive and send: a worker polls a port and puts what it finds into the port's ring
 * `arrived`, another one takes from its ring `leaving` what the packet thread decided to send. Each of these tasks
 * belongs to one worker, so that every ring has one that puts in and one that takes out. Without workers the packet
 * thread polls the port itself. Called from one thread at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

enum {
	MBUFS = 8191,
	CACHE = 256,
	DESCRIPTORS = 512,
	BURST = 64,
	/* Rings of both ports, their descriptors and the caches of five cores fit into MBUFS. */
	ARRIVED = 1024,
	LEAVING = 256,
	PORTS = 2,
	/* Waits for room at a port that is to end, without a frame of progress between two. */
	LAST_WAITS = 100,
	LAST_WAIT_US = 100,
};

/* What a port counted; the same in src/port/dpdk.rs. */
struct counts {
	uint64_t sent, sent_bytes, missed, failed;
};

/* An open port. */
struct line {
	uint16_t port;
	bool open;
	/* NULL without workers. */
	struct rte_ring *arrived, *leaving;
	/* Frames on their way from the ring `leaving` into the port. */
	struct rte_mbuf *held[BURST];
	uint16_t held_from, held_to;
	/* Each is added to by one thread at a time, and read by the packet thread. */
	_Atomic uint64_t sent, sent_bytes, missed, failed;
} __rte_cache_aligned;

static struct rte_mempool *mbufs;
static struct line lines[PORTS];
/* Those in use, in the order in which they were opened. The workers read them; changed only while none runs. */
static struct line *used[PORTS];
static unsigned n_used, n_workers;
static atomic_bool stop;

static void count(_Atomic uint64_t *what, uint64_t n)
{
	atomic_fetch_add_explicit(what, n, memory_order_relaxed);
}

static uint64_t counted(const _Atomic uint64_t *what)
{
	return atomic_load_explicit(what, memory_order_relaxed);
}

/* Starts DPDK's environment. 0, or a negative errno. */
int sojourn_dpdk_start(int argc, char **argv)
{
	cpu_set_t before;
	int pinned = pthread_getaffinity_np(pthread_self(), sizeof before, &before);
	int rc = rte_eal_init(argc, argv);

	/* It binds the calling thread to a core; which thread forwards is not settled here. */
	if (pinned == 0)
		pthread_setaffinity_np(pthread_self(), sizeof before, &before);
	if (rc < 0)
		return rte_errno ? -rte_errno : -EINVAL;
	n_workers = rte_lcore_count() - 1;
	mbufs = rte_pktmbuf_pool_create("sojourn", MBUFS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return mbufs ? 0 : -rte_errno;
}

/* Cores besides that of the packet thread. */
unsigned sojourn_dpdk_workers(void)
{
	return n_workers;
}

/* Sends a burst; how many frames the port took. */
static uint16_t leave(struct line *line, struct rte_mbuf **burst, uint16_t n)
{
	uint32_t lengths[BURST];
	uint64_t bytes = 0;
	uint16_t sent;

	/* What the port took may be gone when the call returns. */
	for (uint16_t i = 0; i < n; i++)
		lengths[i] = rte_pktmbuf_pkt_len(burst[i]);
	sent = n ? rte_eth_tx_burst(line->port, 0, burst, n) : 0;
	for (uint16_t i = 0; i < sent; i++)
		bytes += lengths[i];
	count(&line->sent_bytes, bytes);
	count(&line->sent, sent);
	return sent;
}

/* One turn of a worker at a port's receive queue. How many frames moved. */
static unsigned receive_turn(struct line *line)
{
	struct rte_mbuf *burst[BURST];
	unsigned got = rte_eth_rx_burst(line->port, 0, burst, BURST);
	unsigned put = rte_ring_sp_enqueue_burst(line->arrived, (void **)burst, got, NULL);

	if (put < got) {
		rte_pktmbuf_free_bulk(&burst[put], got - put);
		count(&line->missed, got - put);
	}
	return got;
}

/* One turn of a worker at a port's send queue. How many frames moved. */
static unsigned send_turn(struct line *line)
{
	uint16_t sent;

	if (line->held_from == line->held_to) {
		line->held_from = 0;
		line->held_to = rte_ring_sc_dequeue_burst(line->leaving, (void **)line->held, BURST, NULL);
	}
	sent = leave(line, &line->held[line->held_from], line->held_to - line->held_from);
	line->held_from += sent;
	return sent;
}

/* A worker: its share of receiving at every port, then of sending at every port. */
static int work(void *number)
{
	while (!atomic_load_explicit(&stop, memory_order_acquire)) {
		unsigned moved = 0;

		for (unsigned task = (uintptr_t)number; task < 2 * n_used; task += n_workers)
			moved += task < n_used ? receive_turn(used[task]) : send_turn(used[task - n_used]);
		/* Costs a core of its own nothing that matters, and lets a shared one go on. */
		if (moved == 0)
			sched_yield();
	}
	return 0;
}

static void stop_workers(void)
{
	atomic_store_explicit(&stop, true, memory_order_release);
	rte_eal_mp_wait_lcore();
}

static void start_workers(void)
{
	uintptr_t number = 0;
	unsigned lcore;

	atomic_store_explicit(&stop, false, memory_order_release);
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (number < 2 * n_used)
			rte_eal_remote_launch(work, (void *)number, lcore);
		number++;
	}
}

static struct rte_ring *ring(const char *what, unsigned number, unsigned size)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof name, "%s%u", what, number);
	return rte_ring_create(name, size, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

/* Takes a line for a port into use. NULL and rte_errno when there is none, or no memory. */
static struct line *take_line(uint16_t port)
{
	for (unsigned i = 0; i < PORTS; i++) {
		struct line *line = &lines[i];

		if (line->open)
			continue;
		memset(line, 0, sizeof *line);
		line->port = port;
		if (n_workers > 0) {
			line->arrived = ring("arrived", i, ARRIVED);
			line->leaving = ring("leaving", i, LEAVING);
			if (line->arrived == NULL || line->leaving == NULL) {
				rte_ring_free(line->arrived);
				rte_ring_free(line->leaving);
				return NULL;
			}
		}
		line->open = true;
		return line;
	}
	rte_errno = ENOSPC;
	return NULL;
}

/* Starts the port of this name and the work at it. 0, or a negative errno. */
int sojourn_dpdk_open(const char *name, struct line **opened)
{
	struct rte_eth_conf conf;
	struct line *line;
	uint16_t port, rx = DESCRIPTORS, tx = DESCRIPTORS;
	int rc = rte_eth_dev_get_port_by_name(name, &port);

	if (rc < 0)
		return rc;
	memset(&conf, 0, sizeof conf);
	rc = rte_eth_dev_configure(port, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port, 0, rx, SOCKET_ID_ANY, NULL, mbufs);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(port, 0, tx, SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(port);
	if (rc < 0)
		return rc;
	/* A virtual device without the notion takes everything anyway. */
	(void)rte_eth_promiscuous_enable(port);
	line = take_line(port);
	if (line == NULL) {
		rc = -rte_errno;
		(void)rte_eth_dev_stop(port);
		return rc;
	}
	stop_workers();
	used[n_used++] = line;
	start_workers();
	*opened = line;
	return 0;
}

/*
 * Receives at most n frames (n <= 64), each of at most room bytes, into to[0], to[1], ... and says their lengths. A longer
 * one is not copied; its length says so. How many there were.
 */
unsigned sojourn_dpdk_receive(struct line *line, uint8_t *const *to, uint32_t *lengths, uint16_t n, uint32_t room)
{
	struct rte_mbuf *burst[BURST];
	unsigned got;

	if (n > BURST)
		n = BURST;
	got = line->arrived ? rte_ring_sc_dequeue_burst(line->arrived, (void **)burst, n, NULL)
			    : rte_eth_rx_burst(line->port, 0, burst, n);
	for (unsigned i = 0; i < got; i++) {
		uint32_t length = rte_pktmbuf_pkt_len(burst[i]);
		lengths[i] = length;
		if (length <= room) {
			/* Points into the frame where that is in one piece, and copies to our place where it is not. */
			const void *from = rte_pktmbuf_read(burst[i], 0, length, to[i]);
			if (from != NULL && from != to[i])
				memcpy(to[i], from, length);
		}
	}
	rte_pktmbuf_free_bulk(burst, got);
	return got;
}

/* Hands over the first of n frames (n <= 64). How many; the others found no room. */
unsigned sojourn_dpdk_send(struct line *line, const uint8_t *const *from, const uint32_t *lengths, uint16_t n)
{
	struct rte_mbuf *burst[BURST];
	/* Nobody else fills the ring: what room there is now stays. */
	unsigned sent, room = line->leaving ? rte_ring_free_count(line->leaving) : BURST;

	if (n > BURST)
		n = BURST;
	if (n > room)
		n = room;
	if (n == 0 || rte_pktmbuf_alloc_bulk(mbufs, burst, n) != 0)
		return 0;
	for (uint16_t i = 0; i < n; i++) {
		char *place = rte_pktmbuf_append(burst[i], (uint16_t)lengths[i]);
		/* Longer than a frame of DPDK's: sent empty it would be a lie, so nothing from here on goes. */
		if (place == NULL) {
			rte_pktmbuf_free_bulk(&burst[i], n - i);
			n = i;
			break;
		}
		memcpy(place, from[i], lengths[i]);
	}
	sent = line->leaving ? rte_ring_sp_enqueue_burst(line->leaving, (void **)burst, n, NULL) : leave(line, burst, n);
	rte_pktmbuf_free_bulk(&burst[sent], n - sent);
	return sent;
}

/* Longest frame that can be sent. */
uint32_t sojourn_dpdk_longest(void)
{
	return rte_pktmbuf_data_room_size(mbufs) - RTE_PKTMBUF_HEADROOM;
}

/* What has left the shim, from the port's start on. Asks nobody. */
void sojourn_dpdk_left(const struct line *line, uint64_t *frames, uint64_t *bytes)
{
	*frames = counted(&line->sent) + counted(&line->failed);
	*bytes = counted(&line->sent_bytes);
}

/* What the port counted from its start on. */
void sojourn_dpdk_counts(const struct line *line, struct counts *counts)
{
	struct rte_eth_stats stats;

	counts->sent = counted(&line->sent);
	counts->sent_bytes = counted(&line->sent_bytes);
	counts->missed = counted(&line->missed);
	counts->failed = counted(&line->failed);
	if (rte_eth_stats_get(line->port, &stats) == 0)
		counts->missed += stats.imissed + stats.rx_nombuf;
}

/* 1 if the port has a carrier, 0 if it has none, or a negative errno. Does not wait for the link to settle. */
int sojourn_dpdk_carrier(const struct line *line)
{
	struct rte_eth_link link;
	int rc = rte_eth_link_get_nowait(line->port, &link);

	return rc < 0 ? rc : link.link_status == RTE_ETH_LINK_UP;
}

/* Nothing is received any more; what waits to be sent is sent, or counted as failed where the port takes no more. */
void sojourn_dpdk_finish(struct line *line)
{
	struct rte_mbuf *burst[BURST];
	unsigned n, at = 0;

	while (at < n_used && used[at] != line)
		at++;
	if (at == n_used)
		return;
	stop_workers();
	n_used--;
	memmove(&used[at], &used[at + 1], (n_used - at) * sizeof used[0]);
	start_workers();
	if (line->arrived == NULL)
		return;
	/* The rings are no longer filled: each loop has an end. */
	while ((n = rte_ring_sc_dequeue_burst(line->arrived, (void **)burst, BURST, NULL)) > 0) {
		rte_pktmbuf_free_bulk(burst, n);
		count(&line->missed, n);
	}
	for (unsigned waits = 0; waits < LAST_WAITS;) {
		if (send_turn(line) > 0) {
			waits = 0;
		} else if (line->held_from == line->held_to) {
			break;
		} else {
			rte_delay_us_sleep(LAST_WAIT_US);
			waits++;
		}
	}
	do {
		n = line->held_to - line->held_from;
		rte_pktmbuf_free_bulk(&line->held[line->held_from], n);
		count(&line->failed, n);
		line->held_from = 0;
		line->held_to = rte_ring_sc_dequeue_burst(line->leaving, (void **)line->held, BURST, NULL);
	} while (line->held_to > 0);
}

void sojourn_dpdk_close(struct line *line)
{
	sojourn_dpdk_finish(line);
	/* The card sends what it took: 512 of the longest frames take 6 ms at 1 Gbit/s. */
	rte_delay_us_sleep(10000);
	(void)rte_eth_dev_stop(line->port);
	(void)rte_eth_dev_close(line->port);
	rte_ring_free(line->arrived);
	rte_ring_free(line->leaving);
	line->open = false;
}

static sem_t done;

static int call(void *what)
{
	((void (*)(void))what)();
	return 0;
}

static void call_and_tell(void *what)
{
	call(what);
	sem_post(&done);
}

/* Calls something once on every thread that DPDK started: its workers and that of its interrupts. 0, or a negative errno. */
int sojourn_dpdk_everywhere(void (*what)(void))
{
	int rc;

	stop_workers();
	rc = rte_eal_mp_remote_launch(call, (void *)what, SKIP_MAIN);
	rte_eal_mp_wait_lcore();
	start_workers();
	if (rc < 0 || sem_init(&done, 0, 0) < 0)
		return rc < 0 ? rc : -errno;
	/* Alarms ring on the thread of interrupts. */
	rc = rte_eal_alarm_set(1, call_and_tell, (void *)what);
	if (rc == 0)
		while (sem_wait(&done) < 0 && errno == EINTR)
			;
	sem_destroy(&done);
	return rc;
}
