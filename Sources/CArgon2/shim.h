#pragma once

#include <argon2.h>
#include <pthread.h>

// glibc declares it for _GNU_SOURCE only.
extern int pthread_setname_np(pthread_t thread, const char *name);
