import { zodTextFormat } from "openai/helpers/zod"
import { z } from "zod"
import { z as z3 } from "zod/v3"

/** A schema as a library makes it, a value that fits and one that doesn't. */
export interface SdkSchema {
  readonly name: string
  readonly schema: object
  readonly fits: unknown
  readonly other: unknown
}

/** The schema that the helper of the `openai` SDK derives from a type of zod 3. */
const helped = (type: z3.ZodTypeAny) => zodTextFormat(type, "answer").schema

interface Tree {
  value: string
  left: Tree | null
}
const tree: z3.ZodType<Tree> = z3.object({ value: z3.string(), left: z3.lazy(() => tree).nullable() })

const shape3 = z3.discriminatedUnion("kind", [
  z3.object({ kind: z3.literal("circle"), radius: z3.number() }),
  z3.object({ kind: z3.literal("note"), text: z3.string().nullable() })
])

const zod3: ReadonlyArray<SdkSchema> = [
  {
    name: "zod 3: nullable fields, enums and unions",
    schema: helped(
      z3.object({
        nick: z3.string().nullable(),
        mood: z3.enum(["glad", "sad"]).nullable(),
        size: z3.union([z3.object({ cm: z3.number() }), z3.string()]).nullable()
      })
    ),
    fits: { nick: null, mood: null, size: null },
    other: { nick: null, mood: "angry", size: null }
  },
  {
    name: "zod 3: a discriminated union",
    schema: helped(z3.object({ shape: shape3 })),
    fits: { shape: { kind: "note", text: null } },
    other: { shape: { kind: "circle", text: null } }
  },
  {
    name: "zod 3: recursion by #/definitions",
    schema: helped(tree),
    fits: { value: "a", left: { value: "b", left: null } },
    other: { value: "a", left: { value: "b", left: 3 } }
  },
  {
    name: "zod 3: bounds of numbers",
    schema: helped(z3.object({ n: z3.number().int().min(3).max(9).multipleOf(3), part: z3.number().gt(0) })),
    fits: { n: 6, part: 0.5 },
    other: { n: 7, part: 0.5 }
  },
  {
    name: "zod 3: patterns and formats",
    schema: helped(
      z3.object({
        slug: z3.string().regex(/^[\w-.]+$/),
        code: z3.string().regex(new RegExp(String.raw`^a\-b$`)),
        name: z3.string().regex(/^\p{L}+$/u),
        mail: z3.string().email(),
        id: z3.string().uuid(),
        at: z3.string().datetime()
      })
    ),
    fits: {
      slug: "a-b.c",
      code: "a-b",
      name: "Zoë",
      mail: "ada@example.test",
      id: "019845e1-682f-4b02-a706-3b2422d13aec",
      at: "2024-02-29T10:00:00Z"
    },
    other: {
      slug: "a b",
      code: "a-b",
      name: "Zoë",
      mail: "ada@example.test",
      id: "019845e1-682f-4b02-a706-3b2422d13aec",
      at: "2024-02-29T10:00:00Z"
    }
  }
]

const pair = z.object({ pair: z.tuple([z.string(), z.number()]) })
const bounded = z.object({ part: z.number().gt(0).lt(1) })
const folder = z.object({
  name: z.string(),
  get folders() {
    return z.array(folder)
  }
})
const formats = z.object({
  page: z.url(),
  mail: z.email(),
  day: z.iso.date(),
  at: z.iso.datetime(),
  address: z.ipv4(),
  bytes: z.base64(),
  face: z.emoji()
})
const formatted = {
  page: "https://example.test",
  mail: "ada@example.test",
  day: "2024-02-29",
  at: "2024-02-29T10:00:00Z",
  address: "192.0.2.1",
  bytes: "YWJj",
  face: "😀"
}

const zod4: ReadonlyArray<SdkSchema> = [
  {
    name: "zod 4: optional fields, nullable ones and default values",
    schema: z.toJSONSchema(
      z.object({
        nick: z.string().optional(),
        age: z.number().nullable(),
        language: z.string().default("en"),
        answer: z.literal(["yes", null])
      }),
      { io: "input" }
    ),
    fits: { age: null, answer: null },
    other: { answer: "yes" }
  },
  {
    name: "zod 4: a discriminated union",
    schema: z.toJSONSchema(
      z.object({
        step: z.discriminatedUnion("kind", [
          z.object({ kind: z.literal("wait"), seconds: z.number() }),
          z.object({ kind: z.literal("say"), text: z.string().nullable() })
        ])
      })
    ),
    fits: { step: { kind: "say", text: null } },
    other: { step: { kind: "wait", text: null } }
  },
  {
    name: "zod 4: a tuple in 2020-12",
    schema: z.toJSONSchema(pair),
    fits: { pair: ["a", 1] },
    other: { pair: ["a", 1, 2] }
  },
  {
    name: "zod 4: a tuple in draft-07",
    schema: z.toJSONSchema(pair, { target: "draft-07" }),
    fits: { pair: ["a", 1] },
    other: { pair: ["a", "b"] }
  },
  {
    name: "zod 4: a tuple in draft-04",
    schema: z.toJSONSchema(pair, { target: "draft-04" }),
    fits: { pair: ["a", 1] },
    other: { pair: ["a", 1, 2] }
  },
  {
    name: "zod 4: excluded bounds in draft-04",
    schema: z.toJSONSchema(bounded, { target: "draft-04" }),
    fits: { part: 0.5 },
    other: { part: 1 }
  },
  {
    name: "zod 4: a nullable union in OpenAPI 3.0",
    schema: z.toJSONSchema(z.object({ size: z.union([z.number(), z.string()]).nullable() }), {
      target: "openapi-3.0"
    }),
    fits: { size: null },
    other: { size: false }
  },
  {
    name: "zod 4: records",
    schema: z.toJSONSchema(
      z.object({
        counts: z.record(z.string(), z.int()),
        marks: z.partialRecord(z.enum(["a", "b"]), z.string())
      })
    ),
    fits: { counts: { one: 1 }, marks: { a: "x" } },
    other: { counts: { one: 1 }, marks: { c: "x" } }
  },
  {
    name: "zod 4: recursion by #",
    schema: z.toJSONSchema(folder),
    fits: { name: "a", folders: [{ name: "b", folders: [] }] },
    other: { name: "a", folders: [{ name: "b" }] }
  },
  {
    name: "zod 4: dates and formats",
    schema: z.toJSONSchema(formats),
    fits: formatted,
    other: { ...formatted, day: "2023-02-29" }
  },
  {
    name: "zod 4: patterns",
    schema: z.toJSONSchema(
      z.object({
        slug: z.string().regex(/^[\w-.]+$/),
        year: z.string().regex(/^(?<year>\d{4})$/),
        path: z.string().startsWith("a-b").includes("c/d"),
        version: z.templateLiteral(["v", z.number()])
      })
    ),
    fits: { slug: "a-b.c", year: "2024", path: "a-b c/d", version: "v1.5" },
    other: { slug: "a-b.c", year: "24", path: "a-b c/d", version: "v1.5" }
  }
]

export const zodSchemas: ReadonlyArray<SdkSchema> = [...zod3, ...zod4]
