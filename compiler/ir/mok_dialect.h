/* Between the dialect's C++ glue and the C that does its work. */
#ifndef MOK_IR_MOK_DIALECT_H
#define MOK_IR_MOK_DIALECT_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MlirDialectHandle mlirGetDialectHandle__mok__(void);

/* Rules that ODS cannot say. false: at least one error was emitted at the op's location. */
bool mok_verify_op(MlirOperation op);
/* `op` carries the discardable attribute `name` of the dialect. */
bool mok_verify_dialect_attribute(MlirOperation op, MlirStringRef name, MlirAttribute value);

#ifdef __cplusplus
}
#endif

#endif
