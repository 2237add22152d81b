/* SPDX-License-Identifier: MIT
 *
 * What the files of training share.
 */
#ifndef GRAFT_OPT_OPT_H
#define GRAFT_OPT_OPT_H

/* Training itself is not in this library: forms the text, and logs it the first time. */
void opt_unsupported(const char * function);

#endif /* GRAFT_OPT_OPT_H */
