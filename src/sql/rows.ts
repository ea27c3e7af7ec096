import { Effect, Schema } from "effect"

/** Decodes the rows of a statement. */
export const rowsAs =
  <S extends Schema.Constraint>(row: S) =>
  <E, R>(
    rows: Effect.Effect<unknown, E, R>
  ): Effect.Effect<ReadonlyArray<S["Type"]>, E | Schema.SchemaError, R | S["DecodingServices"]> =>
    Effect.flatMap(rows, Schema.decodeUnknownEffect(Schema.Array(row)))

/** Decodes the first row of a statement; undefined where it has none. */
export const rowAs =
  <S extends Schema.Constraint>(row: S) =>
  <E, R>(
    rows: Effect.Effect<unknown, E, R>
  ): Effect.Effect<S["Type"] | undefined, E | Schema.SchemaError, R | S["DecodingServices"]> =>
    Effect.map(rowsAs(row)(rows), ([first]) => first)
