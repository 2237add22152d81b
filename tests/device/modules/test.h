/* SPDX-License-Identifier: MIT
 *
 * What the test module says of itself to tests, by its procedures "test_counters" and "test_label".
 */
#ifndef GRAFT_TESTS_DEVICE_MODULES_TEST_H
#define GRAFT_TESTS_DEVICE_MODULES_TEST_H

/* Calls since the last time the test cleared them. */
struct test_counters {
    int set, get, memset, set_2d, get_2d, copy;
    int set_async, get_async, set_2d_async, get_2d_async, copy_async, synchronize;
    int foreign;          /* capability queries about operators and types that a module cannot know */
    int freed;            /* buffers */
    int refuse_copy;      /* set by the test: cpy_tensor and cpy_tensor_async answer false */
    int fail_alloc;       /* set by the test: no memory */
    int fail_init_tensor; /* set by the test */
};

typedef struct test_counters * (*test_counters_fn)(void);
typedef const char * (*test_label_fn)(void); /* which build of the module this is */

#endif /* GRAFT_TESTS_DEVICE_MODULES_TEST_H */
