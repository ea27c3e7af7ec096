import { Array as Arr, Effect } from "effect"
import { InvalidRequest, PromptTooLong } from "../domain/Errors.ts"
import type { AnswerOptions } from "../domain/ModelCall.ts"
import type { Candidate } from "../routing/Router.ts"

/** The candidates that can call functions. */
export const thatCall = (
  candidates: Arr.NonEmptyReadonlyArray<Candidate>
): Effect.Effect<Arr.NonEmptyReadonlyArray<Candidate>, InvalidRequest> => {
  const calling = candidates.filter(({ model }) => model.tools)
  return Arr.isReadonlyArrayNonEmpty(calling)
    ? Effect.succeed(calling)
    : Effect.fail(
        new InvalidRequest({
          param: "tools",
          message:
            "`tools` needs a model that can call functions, and none that may answer can. Leave it out."
        })
      )
}

/** The candidates whose servers can be asked to answer so. */
export const thatHonor = (
  candidates: Arr.NonEmptyReadonlyArray<Candidate>,
  options: AnswerOptions
): Effect.Effect<Arr.NonEmptyReadonlyArray<Candidate>, InvalidRequest> => {
  const lackedBy = ({ lacks }: Candidate) => lacks?.(options) ?? null
  const honoring = candidates.filter((candidate) => lackedBy(candidate) === null)
  if (Arr.isReadonlyArrayNonEmpty(honoring)) return Effect.succeed(honoring)
  const param = lackedBy(candidates[0]) ?? ""
  const reason =
    param === "temperature"
      ? "is higher than the models that may answer take"
      : "is nothing that the models that may answer take"
  return Effect.fail(
    new InvalidRequest({ param, message: `\`${param}\` ${reason}. Leave it out, or name another \`model\`.` })
  )
}

/** The candidates that have room for a prompt with passages in it. */
export const withRoom = (candidates: Arr.NonEmptyReadonlyArray<Candidate>, promptTokens: number) => {
  const fitting = candidates.flatMap((candidate): ReadonlyArray<Candidate> => {
    const room = candidate.model.contextWindow - promptTokens
    return room < 1 ? [] : [{ ...candidate, maxOutputTokens: Math.min(candidate.maxOutputTokens, room) }]
  })
  return Arr.isReadonlyArrayNonEmpty(fitting)
    ? Effect.succeed(fitting)
    : Effect.fail(tooLong(promptTokens, candidates))
}

export const tooLong = (promptTokens: number, candidates: ReadonlyArray<Candidate>): PromptTooLong => {
  const windows = candidates.map(({ model }) => model.contextWindow)
  return new PromptTooLong({ promptTokens, tokensMax: Math.max(...windows) - 1 })
}
