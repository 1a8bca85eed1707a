// SPDX-License-Identifier: MIT OR GPL-2.0
/* A congestion control as a kernel module: it grows as Reno does, and a loss takes a third of its window instead of half. */
#include <linux/module.h>
#include <net/tcp.h>

/* The slow-start threshold after a loss, in segments. Put your own rule here. */
static u32 third_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * 2 / 3, 2U);
}

static struct tcp_congestion_ops third __read_mostly = {
	.name = "third",
	.owner = THIS_MODULE,
	.ssthresh = third_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init third_begin(void)
{
	return tcp_register_congestion_control(&third);
}

static void __exit third_end(void)
{
	tcp_unregister_congestion_control(&third);
}

module_init(third_begin);
module_exit(third_end);
MODULE_DESCRIPTION("Reno that gives up a third");
MODULE_LICENSE("Dual MIT/GPL");
