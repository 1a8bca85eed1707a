/*
 * What the device needs of DPDK: bursts in and out by copies, so that frames stay in the device's own pool.
 * Called from one thread at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

enum { MBUFS = 8191, CACHE = 256, DESCRIPTORS = 512, BURST = 64 };

static struct rte_mempool *mbufs;

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
	mbufs = rte_pktmbuf_pool_create("sojourn", MBUFS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return mbufs ? 0 : -rte_errno;
}

/* Starts the port of this name. Its number, or a negative errno. */
int sojourn_dpdk_open(const char *name)
{
	struct rte_eth_conf conf;
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
	return port;
}

/*
 * Receives at most n frames (n <= 64), each of at most room bytes, into to[0], to[1], ... and says their lengths. A longer
 * one is not copied; its length says so. How many there were.
 */
unsigned sojourn_dpdk_receive(uint16_t port, uint8_t *const *to, uint32_t *lengths, uint16_t n, uint32_t room)
{
	struct rte_mbuf *burst[BURST];
	uint16_t got = rte_eth_rx_burst(port, 0, burst, n < BURST ? n : BURST);

	for (uint16_t i = 0; i < got; i++) {
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

/* Sends the first of n frames (n <= 64). How many went; the others found no room. */
unsigned sojourn_dpdk_send(uint16_t port, const uint8_t *const *from, const uint32_t *lengths, uint16_t n)
{
	struct rte_mbuf *burst[BURST];
	uint16_t sent;

	if (n > BURST)
		n = BURST;
	if (rte_pktmbuf_alloc_bulk(mbufs, burst, n) != 0)
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
	sent = n ? rte_eth_tx_burst(port, 0, burst, n) : 0;
	rte_pktmbuf_free_bulk(&burst[sent], n - sent);
	return sent;
}

/* Longest frame that can be sent. */
uint32_t sojourn_dpdk_longest(void)
{
	return rte_pktmbuf_data_room_size(mbufs) - RTE_PKTMBUF_HEADROOM;
}

/* Frames that arrived and found no room, from the start of the port on. */
uint64_t sojourn_dpdk_missed(uint16_t port)
{
	struct rte_eth_stats stats;

	return rte_eth_stats_get(port, &stats) == 0 ? stats.imissed + stats.rx_nombuf : 0;
}

void sojourn_dpdk_close(uint16_t port)
{
	(void)rte_eth_dev_stop(port);
	(void)rte_eth_dev_close(port);
}
