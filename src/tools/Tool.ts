import { Effect, Schema } from "effect"
import type { ToolSpec, ToolName } from "../domain/ModelCall.ts"

export interface ToolAnswer {
  readonly text: string
  /** The host that answered, for the log; absent for a tool without requests. */
  readonly host?: string
}

/** A failed tool call. `message` tells the model why, without internals. */
export class ToolFailed extends Schema.TaggedError<ToolFailed>()("ToolFailed", {
  message: Schema.String,
  host: Schema.optionalKey(Schema.String)
}) {}

export interface Tool {
  readonly spec: ToolSpec & { readonly name: ToolName }
  /** Runs with arguments as the model wrote them, parsed but not yet checked. */
  readonly run: (args: unknown) => Effect.Effect<ToolAnswer, ToolFailed>
}

/** A tool from the schema of its arguments, which the model gets and its arguments must match. */
export const defineTool = <const Fields extends Schema.Struct.Fields>(tool: {
  readonly name: ToolName
  readonly description: string
  readonly parameters: Schema.Struct<Fields> & Schema.Decoder<Schema.Struct<Fields>["Type"]>
  readonly run: (args: Schema.Struct<Fields>["Type"]) => Effect.Effect<ToolAnswer, ToolFailed>
}): Tool => {
  const decode = Schema.decodeUnknownEffect(tool.parameters)
  let schema: ToolSpec["parameters"] | null = null
  return {
    spec: {
      name: tool.name,
      description: tool.description,
      // Derived when a model is first offered the tool, since a start would wait for it
      // (docs/decisions/speed.md).
      get parameters() {
        return (schema ??= Schema.toJsonSchemaDocument(tool.parameters).schema)
      }
    },
    run: (args) =>
      decode(args).pipe(
        Effect.mapError(
          (error) => new ToolFailed({ message: `The arguments of ${tool.name} don't fit: ${error.message}` })
        ),
        Effect.flatMap(tool.run)
      )
  }
}
