import type { SdkSchema } from "./zodSchemas.ts"

/** Schemas as `model_json_schema` of pydantic 2.12 writes them. */
const pydantic: ReadonlyArray<SdkSchema> = [
  {
    name: "pydantic: optional fields, an enum by #/$defs and default values",
    schema: {
      $defs: { Mood: { enum: ["glad", "sad"], title: "Mood", type: "string" } },
      additionalProperties: false,
      properties: {
        name: { title: "Name", type: "string" },
        nick: { anyOf: [{ type: "string" }, { type: "null" }], default: null, title: "Nick" },
        mood: { $ref: "#/$defs/Mood", default: "glad", description: "How it is." },
        kind: { const: "person", default: "person", title: "Kind", type: "string" }
      },
      required: ["name"],
      title: "Person",
      type: "object"
    },
    fits: { name: "Ada", nick: null, mood: "sad", kind: "person" },
    other: { name: "Ada", mood: "angry" }
  },
  {
    name: "pydantic: a discriminated union",
    schema: {
      $defs: {
        Cat: {
          properties: {
            kind: { const: "cat", title: "Kind", type: "string" },
            lives: { exclusiveMaximum: 10, minimum: 0, title: "Lives", type: "integer" }
          },
          required: ["kind", "lives"],
          title: "Cat",
          type: "object"
        },
        Dog: {
          properties: {
            kind: { const: "dog", title: "Kind", type: "string" },
            weight: { exclusiveMinimum: 0, multipleOf: 0.5, title: "Weight", type: "number" }
          },
          required: ["kind", "weight"],
          title: "Dog",
          type: "object"
        }
      },
      properties: {
        pet: {
          discriminator: { mapping: { cat: "#/$defs/Cat", dog: "#/$defs/Dog" }, propertyName: "kind" },
          oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
          title: "Pet"
        }
      },
      required: ["pet"],
      title: "Owner",
      type: "object"
    },
    fits: { pet: { kind: "dog", weight: 7.5 } },
    other: { pet: { kind: "cat", weight: 7.5 } }
  },
  {
    name: "pydantic: recursion",
    schema: {
      $defs: {
        Node: {
          properties: {
            value: { title: "Value", type: "integer" },
            next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }], default: null }
          },
          required: ["value"],
          title: "Node",
          type: "object"
        }
      },
      $ref: "#/$defs/Node"
    },
    fits: { value: 1, next: { value: 2, next: null } },
    other: { value: 1, next: { value: "2" } }
  },
  {
    name: "pydantic: tuples, dates, decimals and dictionaries",
    schema: {
      properties: {
        pair: {
          maxItems: 2,
          minItems: 2,
          prefixItems: [{ type: "string" }, { type: "integer" }],
          title: "Pair",
          type: "array"
        },
        day: { format: "date", title: "Day", type: "string" },
        at: { format: "date-time", title: "At", type: "string" },
        lasts: { format: "duration", title: "Lasts", type: "string" },
        file: { format: "path", title: "File", type: "string" },
        price: {
          anyOf: [
            { type: "number" },
            { pattern: String.raw`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`, type: "string" }
          ],
          title: "Price"
        },
        counts: { additionalProperties: { type: "integer" }, title: "Counts", type: "object" },
        names: { items: { type: "string" }, title: "Names", type: "array", uniqueItems: true }
      },
      required: ["pair", "day", "at", "lasts", "file", "price", "counts", "names"],
      title: "Event",
      type: "object"
    },
    fits: {
      pair: ["a", 1],
      day: "2024-02-29",
      at: "2024-02-29T10:00:00+01:00",
      lasts: "PT1H",
      file: "/a/b",
      price: "12.50",
      counts: { one: 1 },
      names: ["a", "b"]
    },
    other: {
      pair: ["a", 1],
      day: "2024-02-29",
      at: "2024-02-29T10:00:00+01:00",
      lasts: "PT1H",
      file: "/a/b",
      price: "12.50",
      counts: { one: "1" },
      names: ["a", "b"]
    }
  }
]

/** Schemas as TypeBox 0.34 writes them: none names its draft. */
const typeBox: ReadonlyArray<SdkSchema> = [
  {
    name: "TypeBox: a tuple",
    schema: {
      type: "object",
      properties: {
        pair: {
          type: "array",
          items: [{ type: "string" }, { type: "number" }],
          additionalItems: false,
          minItems: 2,
          maxItems: 2
        }
      },
      required: ["pair"]
    },
    fits: { pair: ["a", 1] },
    other: { pair: ["a", "b"] }
  },
  {
    name: "TypeBox: recursion by $id",
    schema: {
      $id: "Folder",
      type: "object",
      properties: { name: { type: "string" }, folders: { type: "array", items: { $ref: "Folder" } } },
      required: ["name", "folders"]
    },
    fits: { name: "a", folders: [{ name: "b", folders: [] }] },
    other: { name: "a", folders: [{ name: "b" }] }
  },
  {
    name: "TypeBox: a record and a union of literals",
    schema: {
      type: "object",
      properties: {
        counts: { type: "object", patternProperties: { "^(.*)$": { type: "number" } } },
        mood: {
          anyOf: [{ const: "glad", type: "string" }, { const: "sad", type: "string" }, { type: "null" }]
        }
      },
      required: ["counts", "mood"]
    },
    fits: { counts: { one: 1 }, mood: null },
    other: { counts: { one: "1" }, mood: null }
  }
]

/** Schemas as `toJsonSchema` of `@valibot/to-json-schema` 1.3 writes them. */
const valibot: ReadonlyArray<SdkSchema> = [
  {
    name: "Valibot: nullable fields, a picklist and a variant",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        nick: { anyOf: [{ type: "string" }, { type: "null" }] },
        mood: { enum: ["glad", "sad"] },
        step: {
          oneOf: [
            {
              type: "object",
              properties: { kind: { const: "wait" }, seconds: { type: "number", minimum: 0 } },
              required: ["kind", "seconds"]
            },
            {
              type: "object",
              properties: { kind: { const: "say" }, text: { type: "string", minLength: 1 } },
              required: ["kind", "text"],
              additionalProperties: false
            }
          ]
        }
      },
      required: ["nick", "mood", "step"]
    },
    fits: { nick: null, mood: "sad", step: { kind: "say", text: "Hi" } },
    other: { nick: null, mood: "sad", step: { kind: "say", text: "" } }
  },
  {
    name: "Valibot: a strict tuple, a record and recursion",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      $ref: "#/definitions/0",
      definitions: {
        "0": {
          type: "object",
          properties: {
            pair: {
              type: "array",
              items: [{ type: "string" }, { type: "number" }],
              minItems: 2,
              additionalItems: false
            },
            counts: { type: "object", additionalProperties: { type: "number" } },
            next: { anyOf: [{ $ref: "#/definitions/0" }, { type: "null" }] }
          },
          required: ["pair", "counts", "next"]
        }
      }
    },
    fits: { pair: ["a", 1], counts: {}, next: { pair: ["b", 2], counts: { one: 1 }, next: null } },
    other: { pair: ["a", 1], counts: {}, next: { pair: ["b"], counts: {}, next: null } }
  }
]

export const literalSchemas: ReadonlyArray<SdkSchema> = [...pydantic, ...typeBox, ...valibot]
