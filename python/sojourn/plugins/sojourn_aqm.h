/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sojourn_aqm.h, version 1: a queue management algorithm in a shared library, for simulator and device.
 *
 * The library defines sojourn_aqm_plugin(), which returns one table. The host owns the queue and the state of each
 * instance; the algorithm decides on one packet at a time. Rules:
 *
 *   1. All that an instance remembers is in its state. The host copies it byte by byte, so nothing may point into it or
 *      belong to it. Several instances are at work at the same time in different threads.
 *   2. Random numbers come from sojourn_uniform() or sojourn_chance(), and exponentials, logarithms and powers from
 *      sojourn_exp() and its neighbours. Otherwise runs cannot be repeated or compared.
 *   3. Every answer is one of the codes below, none of which is 0. Any other ends a simulation with an error. The device
 *      counts it, and accepts or sends the packet.
 *   4. Pointers that a function gets are valid until it returns.
 *
 * Compile with -ffp-contract=off and without -ffast-math, so that a library decides alike on every machine.
 */
#ifndef SOJOURN_AQM_H
#define SOJOURN_AQM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOJOURN_AQM_VERSION 1u

/* Answers. */
enum {
    SOJOURN_ACCEPT = 1, /* enqueue: the packet joins the queue */
    SOJOURN_DROP = 2,   /* enqueue: it is dropped. dequeue: the head is dropped, and the next head is looked at */
    SOJOURN_MARK = 3,   /* enqueue: it is marked CE and joins. dequeue: the head is marked and sent. Only ECN-capable packets */
    SOJOURN_SEND = 4,   /* dequeue: the head is sent */
    SOJOURN_DONE = 5,   /* init, set_params, update */
    SOJOURN_RAISED = -1, /* any: an exception in the algorithm */
    SOJOURN_LOOPED = -2  /* any: a loop in the algorithm that does not end */
};

/* sojourn_packet.ecn, the field of RFC 3168. */
enum { SOJOURN_NOT_ECT = 0, SOJOURN_ECT1 = 1, SOJOURN_ECT0 = 2, SOJOURN_CE = 3 };

/* A packet. It is longer than what is declared here: use pointers, make no copies. */
typedef struct sojourn_packet {
    uint64_t enqueued_ns; /* when it joined the queue; of an arrival: now */
    uint64_t number;      /* of this arrival at this queue, from 0 */
    uint32_t handle;      /* the host's own */
    uint32_t flow;        /* hash of addresses, ports and protocol */
    uint32_t source;      /* hash of the source host */
    uint32_t destination; /* hash of the destination host */
    uint32_t size_bytes;  /* on the wire */
    uint16_t window;      /* congestion window in packets, where the sender tells it; else 0 */
    uint8_t ecn;
    uint8_t dscp;
} sojourn_packet;

struct sojourn_host;

/* The queue. At enqueue it does not hold the arrival; at dequeue it holds the head. */
typedef struct sojourn_queue {
    uint64_t now_ns;
    uint64_t rate_bit_s; /* of the link that the queue feeds */
    uint64_t bytes;
    uint64_t packets;
    uint64_t oldest_ns; /* when the head joined; now, if nothing waits */
    const struct sojourn_host *host;
} sojourn_queue;

/* What the host does for an algorithm; use the functions at the end of this file. */
typedef struct sojourn_host {
    double (*uniform)(sojourn_queue *);
    int32_t (*chance)(sojourn_queue *, double);
    const sojourn_packet *(*waiting)(sojourn_queue *, uint64_t);
    double (*exp)(double);
    double (*log)(double);
    double (*pow)(double, double);
} sojourn_host;

/* Kinds of parameters, and the member of sojourn_value that holds one. */
enum {
    SOJOURN_TIME = 1,        /* whole, ns */
    SOJOURN_BYTES = 2,       /* whole */
    SOJOURN_PACKETS = 3,     /* whole */
    SOJOURN_RATE = 4,        /* whole, bit/s */
    SOJOURN_PROBABILITY = 5, /* real, 0 to 1 */
    SOJOURN_NUMBER = 6,      /* real, 0 or more */
    SOJOURN_COUNT = 7,       /* whole */
    SOJOURN_FLAG = 8         /* whole, 0 or 1 */
};

typedef union sojourn_value {
    int64_t whole;
    double real;
} sojourn_value;

typedef struct sojourn_parameter {
    const char *name;    /* as users write it: target */
    const char *initial; /* the default, with its unit: 15ms */
    const char *doc;     /* what it does, and the source of its default */
    int32_t kind;
} sojourn_parameter;

/* Kinds of internals. */
enum { SOJOURN_DOUBLE = 1, SOJOURN_INT64 = 2, SOJOURN_UINT64 = 3, SOJOURN_UINT32 = 4, SOJOURN_BYTE = 5 };

/* A member of the state that users can watch by name. */
typedef struct sojourn_internal {
    const char *name;
    uint64_t offset; /* in the state */
    int32_t kind;
} sojourn_internal;

enum { SOJOURN_MARKS = 1u, SOJOURN_PER_FLOW_STATE = 2u };
#define SOJOURN_NO_LINE 0xffffffffu

typedef struct sojourn_aqm {
    uint32_t version;      /* SOJOURN_AQM_VERSION */
    uint32_t table_bytes;  /* sizeof(sojourn_aqm) */
    const char *name;      /* my_pie */
    const char *title;     /* in prose: MyPIE */
    const char *summary;   /* what it does, in a line */
    const char *source;    /* the governing text */
    const char *signals_on; /* "queue delay" */
    const char *limit;     /* default of `limit`, at which the host drops arrivals; NULL: 1000p */
    const char *period;    /* name of the time parameter after which update() is called; NULL: never */
    const char *file;      /* the source file, for messages; NULL */
    uint32_t flags;
    uint32_t line_offset;  /* where the state holds the present line, a uint32_t; SOJOURN_NO_LINE */
    uint64_t state_bytes;  /* at most 1 MiB */
    uint64_t state_align;  /* at most 64 */
    const sojourn_parameter *parameters;
    uint64_t parameters_len;
    const sojourn_internal *internals;
    uint64_t internals_len;
    /* A new instance; the state is zero. */
    int32_t (*init)(void *state, const sojourn_value *parameters);
    /* Other values of parameters while packets wait; what has been learnt stays. */
    int32_t (*set_params)(void *state, const sojourn_value *parameters);
    /* Decides on an arrival. */
    int32_t (*enqueue)(void *state, const sojourn_packet *arrival, sojourn_queue *queue);
    /* Decides on the head; not asked when nothing waits. NULL: every packet is sent. */
    int32_t (*dequeue)(void *state, const sojourn_packet *head, sojourn_queue *queue);
    /* At every whole multiple of `period` after the first arrival, with that instant as now. No random numbers. NULL: none. */
    int32_t (*update)(void *state, sojourn_queue *queue);
} sojourn_aqm;

/* The one symbol that a library has to define. */
const sojourn_aqm *sojourn_aqm_plugin(void);

/* Uniform in [0, 1). */
static inline double sojourn_uniform(sojourn_queue *queue) { return queue->host->uniform(queue); }

/* 1 with probability p; draws a number only if 0 < p < 1. NaN is an error. */
static inline int32_t sojourn_chance(sojourn_queue *queue, double p) { return queue->host->chance(queue, p); }

/* The waiting packet at an index, 0 for the head; NULL beyond the last. At most 64 in a call of the algorithm. */
static inline const sojourn_packet *sojourn_waiting(sojourn_queue *queue, uint64_t index) {
    return queue->host->waiting(queue, index);
}

static inline double sojourn_exp(const sojourn_queue *queue, double x) { return queue->host->exp(x); }
static inline double sojourn_log(const sojourn_queue *queue, double x) { return queue->host->log(x); }
static inline double sojourn_pow(const sojourn_queue *queue, double x, double y) { return queue->host->pow(x, y); }

#ifdef __cplusplus
}
#endif

#endif
