/* What the binary holds: code targets, GPU rows, presets. */
#include <inttypes.h>
#include <string.h>

#include "../../runtime/base/json.h"
#include "../frontend/frontend.h"
#include "../target/target.h"
#include "commands.h"
#include "texts.h"

static void json_text(mok_json *json, const char *key, const char *value) {
  mok_json_key(json, key);
  mok_json_string(json, value);
}

static void targets_json(mok_buf *out) {
  mok_json json = mok_json_make(out);
  mok_json_begin_object(&json);
  mok_json_key(&json, "schema");
  mok_json_int(&json, 1);
  mok_json_key(&json, "targets");
  mok_json_begin_array(&json);
  for (size_t i = 0; i < mok_target_count; ++i) {
    mok_json_begin_object(&json);
    json_text(&json, "name", mok_targets[i].name);
    json_text(&json, "status", mok_targets[i].status);
    mok_json_end_object(&json);
  }
  mok_json_end_array(&json);
  mok_json_key(&json, "gpus");
  mok_json_begin_array(&json);
  for (size_t i = 0; i < mok_gpu_count; ++i) {
    const mok_gpu *gpu = &mok_gpus[i];
    mok_json_begin_object(&json);
    json_text(&json, "name", gpu->name);
    json_text(&json, "target", gpu->arch);
    mok_json_key(&json, "sms");
    mok_json_int(&json, gpu->sms);
    mok_json_key(&json, "memory_bytes");
    mok_json_int(&json, gpu->memory_bytes);
    mok_json_key(&json, "bf16_tflops");
    mok_json_fixed(&json, gpu->bf16_tflops, 3);
    mok_json_key(&json, "memory_gbs");
    mok_json_fixed(&json, gpu->memory_gbs, 3);
    mok_json_key(&json, "link_gbs");
    mok_json_fixed(&json, gpu->link_gbs, 3);
    json_text(&json, "source", gpu->source);
    mok_json_end_object(&json);
  }
  mok_json_end_array(&json);
  mok_json_end_object(&json);
  mok_json_finish(&json);
}

mok_status mok_cmd_targets(mok_session *session) {
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) {
    targets_json(&text);
    return mok_session_print(&text);
  }
  mok_buf_puts(&text, "target    status\n");
  for (size_t i = 0; i < mok_target_count; ++i) mok_buf_printf(&text, "%-9s %s\n", mok_targets[i].name, mok_targets[i].status);
  mok_buf_puts(&text, "\nGPU row   target     SMs  memory GB  bf16 TF/s  memory GB/s  link GB/s  numbers\n");
  for (size_t i = 0; i < mok_gpu_count; ++i) {
    const mok_gpu *gpu = &mok_gpus[i];
    mok_buf_printf(&text, "%-9s %-9s %4" PRId64 " %10.0f %10.0f %12.0f %10.0f  %s\n", gpu->name, gpu->arch, gpu->sms,
                   (double)gpu->memory_bytes / 1e9, gpu->bf16_tflops, gpu->memory_gbs, gpu->link_gbs, gpu->source);
  }
  return mok_session_print(&text);
}

mok_status mok_cmd_presets(mok_session *session) {
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) {
    mok_json json = mok_json_make(&text);
    mok_json_begin_object(&json);
    mok_json_key(&json, "schema");
    mok_json_int(&json, 1);
    mok_json_key(&json, "presets");
    mok_json_begin_array(&json);
    for (size_t i = 0; i < mok_preset_count; ++i) mok_json_string(&json, mok_presets[i].name);
    mok_json_end_array(&json);
    mok_json_end_object(&json);
    mok_json_finish(&json);
    return mok_session_print(&text);
  }
  for (size_t i = 0; i < mok_preset_count; ++i) {
    /* The first comment line of a preset says what it is. */
    const char *first = mok_presets[i].text;
    const size_t length = strcspn(first, "\n");
    const size_t dashes = strspn(first, "- ");
    const bool described = strncmp(first, "--", 2) == 0 && dashes < length;
    mok_buf_puts(&text, mok_presets[i].name);
    if (described) {
      mok_buf_pad_to(&text, 18);
      mok_buf_write(&text, first + dashes, length - dashes);
    }
    mok_buf_putc(&text, '\n');
  }
  return mok_session_print(&text);
}

mok_status mok_cmd_reference(mok_session *session) {
  static const struct {
    const char *name;
    void (*write)(mok_buf *out);
  } texts[] = {{"man", mok_text_manual}, {"bash", mok_text_bash}, {"zsh", mok_text_zsh}, {"lua", mok_text_annotations}};
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.operand_count == 0) {
    mok_model_reference(&text);
    return mok_session_print(&text);
  }
  const char *name = session->options.operands[0];
  for (size_t i = 0; i < sizeof texts / sizeof texts[0] && text.size == 0; ++i)
    if (strcmp(name, texts[i].name) == 0) texts[i].write(&text);
  if (text.size == 0) return MOK_ERROR(MOK_ERR_USAGE, "reference: no text '%s'; one of man, bash, zsh, lua", name);
  return mok_session_print(&text);
}
