/* wgmma.mma_async for every width (PTX ISA, asynchronous warpgroup: wgmma.mma_async): d += A B^T, or d = A B^T if `add` is 0.
 * A is 64 x 16, B is n x 16 bf16, both in shared memory behind a descriptor; a thread holds n / 2 values of d. An instruction's
 * operands are numbered in its text, so every width has its own. */
#ifndef MOK_WGMMA_H
#define MOK_WGMMA_H

/* Descriptor of an operand (asynchronous warpgroup: matrix descriptor) in rows of 128 bytes with their swizzle: address, and
 * distance of 8-row groups, in units of 16 bytes. The upper half is the same for all; 16 more values of k are 32 bytes further
 * on. */
enum { MOK_OPERAND_HIGH = 8 * 128 / 16 | 1 << 30, MOK_OPERAND_STEP = 32 / 16 };
MOK_FN unsigned mok_operand(unsigned shared_address) { return shared_address >> 4 | 1u << 16; }

template <int n>
struct mok_wgmma;

/* clang-format off */

/* Operands of d of width n, in the text. */
#define MOK_TEXT_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define MOK_TEXT_32 MOK_TEXT_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define MOK_TEXT_48 MOK_TEXT_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define MOK_TEXT_64 MOK_TEXT_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define MOK_TEXT_80 MOK_TEXT_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define MOK_TEXT_96 MOK_TEXT_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define MOK_TEXT_112 MOK_TEXT_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define MOK_TEXT_128 MOK_TEXT_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define MOK_TEXT_144 MOK_TEXT_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define MOK_TEXT_160 MOK_TEXT_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define MOK_TEXT_176 MOK_TEXT_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define MOK_TEXT_192 MOK_TEXT_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define MOK_TEXT_208 MOK_TEXT_192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define MOK_TEXT_224 MOK_TEXT_208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define MOK_TEXT_240 MOK_TEXT_224 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define MOK_TEXT_256 MOK_TEXT_240 ", %120, %121, %122, %123, %124, %125, %126, %127"

/* The same, as values. */
#define MOK_VALUES_16 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define MOK_VALUES_32 MOK_VALUES_16, \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define MOK_VALUES_48 MOK_VALUES_32, \
  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define MOK_VALUES_64 MOK_VALUES_48, \
  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define MOK_VALUES_80 MOK_VALUES_64, \
  "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define MOK_VALUES_96 MOK_VALUES_80, \
  "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define MOK_VALUES_112 MOK_VALUES_96, \
  "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define MOK_VALUES_128 MOK_VALUES_112, \
  "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define MOK_VALUES_144 MOK_VALUES_128, \
  "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define MOK_VALUES_160 MOK_VALUES_144, \
  "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define MOK_VALUES_176 MOK_VALUES_160, \
  "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define MOK_VALUES_192 MOK_VALUES_176, \
  "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define MOK_VALUES_208 MOK_VALUES_192, \
  "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define MOK_VALUES_224 MOK_VALUES_208, \
  "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define MOK_VALUES_240 MOK_VALUES_224, \
  "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define MOK_VALUES_256 MOK_VALUES_240, \
  "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

#define MOK_WGMMA(n, a_low, b_low, add_operand, high)                                                                         \
  template <>                                                                                                             \
  struct mok_wgmma<n> {                                                                                                   \
    MOK_FN static void multiply(float (&d)[n / 2], unsigned a, unsigned b, int add) {                                     \
      asm volatile(                                                                                                       \
          "{\n"                                                                                                           \
          ".reg .pred add;\n"                                                                                             \
          ".reg .b64 a, b;\n"                                                                                             \
          "mov.b64 a, {" a_low ", " high "};\n"                                                                           \
          "mov.b64 b, {" b_low ", " high "};\n"                                                                           \
          "setp.ne.s32 add, " add_operand ", 0;\n"                                                                        \
          "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 "                                                     \
          "{" MOK_TEXT_##n "}, a, b, add, 1, 1, 0, 0;\n"                                                                      \
          "}"                                                                                                             \
          : MOK_VALUES_##n                                                                                                \
          : "r"(a), "r"(b), "r"(add), "n"((int)MOK_OPERAND_HIGH)                                                               \
          : "memory");                                                                                                    \
    }                                                                                                                     \
  };
MOK_WGMMA(16, "%8", "%9", "%10", "%11")
MOK_WGMMA(32, "%16", "%17", "%18", "%19")
MOK_WGMMA(48, "%24", "%25", "%26", "%27")
MOK_WGMMA(64, "%32", "%33", "%34", "%35")
MOK_WGMMA(80, "%40", "%41", "%42", "%43")
MOK_WGMMA(96, "%48", "%49", "%50", "%51")
MOK_WGMMA(112, "%56", "%57", "%58", "%59")
MOK_WGMMA(128, "%64", "%65", "%66", "%67")
MOK_WGMMA(144, "%72", "%73", "%74", "%75")
MOK_WGMMA(160, "%80", "%81", "%82", "%83")
MOK_WGMMA(176, "%88", "%89", "%90", "%91")
MOK_WGMMA(192, "%96", "%97", "%98", "%99")
MOK_WGMMA(208, "%104", "%105", "%106", "%107")
MOK_WGMMA(224, "%112", "%113", "%114", "%115")
MOK_WGMMA(240, "%120", "%121", "%122", "%123")
MOK_WGMMA(256, "%128", "%129", "%130", "%131")

#undef MOK_WGMMA

/* clang-format on */

#endif
