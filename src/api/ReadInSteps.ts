import { Effect, Schema } from "effect"

/**
 * Fields that an interface doesn't have, as they are. Nothing looks at their values: `Unknown` would check
 * all that they hold.
 */
export const withUnknownFields = <Fields extends Schema.Struct.Fields>(body: Schema.Struct<Fields>) =>
  Schema.StructWithRest(body, [Schema.Record(Schema.String, Schema.Any)])

/**
 * The same schema, whose decoding is an operation of its own, so that a fiber that decodes a long list of it
 * can give way in between (docs/decisions/processor-turns.md).
 */
export const inSteps = <S extends Schema.Constraint>(entry: S) =>
  Schema.middlewareDecoding<S, S["DecodingServices"]>((decoding) => Effect.suspend(() => decoding))(entry)
