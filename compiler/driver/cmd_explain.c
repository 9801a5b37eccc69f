#include "../../runtime/base/file.h"
#include "commands.h"
#include "stages.h"

mok_status mok_cmd_explain(mok_session *session) {
  mok_work work;
  MOK_TRY(mok_work_init(&work, session));
  const char *output = session->options.output.given ? session->options.output.text : "-";
  mok_status status = mok_file_check(output);
  if (!status) status = mok_stages_run(session, &work, MOK_STAGE_PLAN);
  if (!status) {
    mok_buf text = mok_buf_make(session->arena);
    if (session->options.json.given) mok_plan_json(work.plan, &text);
    else mok_plan_explain(work.plan, &text);
    status = mok_session_write(output, text.data, text.size);
  }
  mok_work_deinit(&work);
  return status;
}
