/* One function per command; options are in the session. */
#ifndef MOK_DRIVER_COMMANDS_H
#define MOK_DRIVER_COMMANDS_H

#include "session.h"

MOK_MUST_USE mok_status mok_cmd_build(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_explain(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_run(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_bench(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_check(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_cache(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_targets(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_presets(mok_session *session);
MOK_MUST_USE mok_status mok_cmd_reference(mok_session *session);

#endif
