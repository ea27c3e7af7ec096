import { Schema } from "effect"

/** Why a command came to nothing, in one line for the person at the terminal. */
export class CliFailure extends Schema.TaggedError<CliFailure>()("CliFailure", { message: Schema.String }) {}
