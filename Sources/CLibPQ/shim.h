#pragma once

#include <libpq-fe.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// libpq 17 can end a statement without a send(2) of its own, so that one flush carries many of them. Older ones flush
// in PQpipelineSync.
static inline int pipeline_sync(PGconn *connection) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    return PQsendPipelineSync(connection);
#else
    return PQpipelineSync(connection);
#endif
}

// Enumerators and macros that Swift would import with types that fit none of the calls which take them.
static const unsigned int epoll_readable = EPOLLIN | EPOLLRDHUP;
static const unsigned int epoll_writable = EPOLLOUT;

// glibc declares it for _GNU_SOURCE only.
extern int pthread_setname_np(pthread_t thread, const char *name);
