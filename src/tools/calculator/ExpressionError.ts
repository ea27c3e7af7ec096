import { Schema } from "effect"

/** Why an expression has no value. `message` names the position, counted in characters from 1. */
export class ExpressionError extends Schema.TaggedError<ExpressionError>()("ExpressionError", {
  position: Schema.Int,
  message: Schema.String
}) {}

/** Gives up on an expression. `at` is where in it the problem is, counted from 0; `problem` is part of a sentence. */
export const refuse = (at: number, problem: string): never => {
  const position = at + 1
  throw new ExpressionError({ position, message: `Position ${position}: ${problem}.` })
}
