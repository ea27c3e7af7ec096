import { Effect, Schema } from "effect"
import type { ToolSpec, ToolName } from "../domain/ModelCall.ts"

/** What a tool found. */
export interface ToolAnswer {
  readonly text: string
  /** Which host answered, for the log; absent for a tool that asks nobody. */
  readonly host?: string
}

/** A tool that could not do what it was asked to. `message` tells the model why, and nothing about the inside. */
export class ToolFailed extends Schema.TaggedError<ToolFailed>()("ToolFailed", {
  message: Schema.String,
  host: Schema.optionalKey(Schema.String)
}) {}

/** A tool that the service runs by itself when a model asks for it. */
export interface Tool {
  readonly spec: ToolSpec & { readonly name: ToolName }
  /** Runs with arguments as the model wrote them, parsed but not yet checked. */
  readonly run: (args: unknown) => Effect.Effect<ToolAnswer, ToolFailed>
}

/** A tool from the schema of its arguments, which is what the model is told and what its arguments must match. */
export const defineTool = <const Fields extends Schema.Struct.Fields>(tool: {
  readonly name: ToolName
  readonly description: string
  readonly parameters: Schema.Struct<Fields> & Schema.Decoder<Schema.Struct<Fields>["Type"]>
  readonly run: (args: Schema.Struct<Fields>["Type"]) => Effect.Effect<ToolAnswer, ToolFailed>
}): Tool => {
  const { schema } = Schema.toJsonSchemaDocument(tool.parameters)
  const decode = Schema.decodeUnknownEffect(tool.parameters)
  return {
    spec: { name: tool.name, description: tool.description, parameters: schema },
    run: (args) =>
      decode(args).pipe(
        Effect.mapError(
          (error) => new ToolFailed({ message: `The arguments of ${tool.name} don't fit: ${error.message}` })
        ),
        Effect.flatMap(tool.run)
      )
  }
}
