import type { ModelFinish, ModelPart, ModelUsage } from "../domain/ModelCall.ts"
import {
  beginningWithin,
  type CharacterCount,
  countCharacters,
  noCharacters,
  tokensOf
} from "../domain/Tokens.ts"

/**
 * Keeps an answer within its tokens, whatever the model server makes of the bound that it was told. The server's own count
 * is the truth, but comes last; until then the estimate decides, which errs towards too many. So what lies beyond the bound
 * by the estimate is withheld until the finish, and an answer that is over by far is ended.
 */
export interface AnswerBound {
  /** What of the parts may be shown now. After a `finish` that wasn't the server's own, `isCut` is true. */
  readonly admit: (parts: ReadonlyArray<ModelPart>) => ReadonlyArray<ModelPart>
  /** The model is writing beyond its bound, and needn't be listened to any longer. */
  readonly isCut: () => boolean
}

/** An honest count and the estimate never differ by more than this: a factor, and a little for short answers. */
const patienceFactor = 2
const patienceTokens = 32

/** The finish of an answer that was cut tells of the answer only: the server's count is never heard then. */
export const makeAnswerBound = (tokensMax: number): AnswerBound => {
  const cutTokens = tokensMax * patienceFactor + patienceTokens
  let written: CharacterCount = noCharacters
  let withheld = ""
  let cut = false

  const cutFinish = (): ModelFinish => {
    const usage: ModelUsage = {
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: tokensMax,
      reasoningTokens: 0,
      source: "tokenizer"
    }
    return { type: "finish", reason: "length", usage }
  }

  const admitText = (text: string): ReadonlyArray<ModelPart> => {
    const before = written
    written = countCharacters(text, written)
    if (withheld === "" && tokensOf(written) <= tokensMax) return [{ type: "text", text }]
    const shown = withheld === "" ? beginningWithin(text, tokensMax, before) : ""
    withheld += text.slice(shown.length)
    return shown === "" ? [] : [{ type: "text", text: shown }]
  }

  const admitFinish = (finish: ModelFinish): ReadonlyArray<ModelPart> => {
    if (withheld === "") return [finish]
    if (finish.usage.outputTokens <= tokensMax) return [{ type: "text", text: withheld }, finish]
    return [{ ...finish, reason: "length" }]
  }

  const admitPart = (part: ModelPart): ReadonlyArray<ModelPart> => {
    switch (part.type) {
      case "text":
        return admitText(part.text)
      case "finish":
        return admitFinish(part)
      case "tool_call":
        written = countCharacters(part.call.name + part.call.arguments, written)
        return [part]
    }
  }

  const admit = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<ModelPart> => {
    const [only] = parts
    // One delta well within the bound is what nearly all calls are about.
    if (parts.length === 1 && only?.type === "text" && withheld === "" && !cut) {
      const after = countCharacters(only.text, written)
      if (tokensOf(after) <= tokensMax) {
        written = after
        return parts
      }
    }
    const admitted: Array<ModelPart> = []
    for (const part of parts) {
      if (cut) break
      for (const one of admitPart(part)) admitted.push(one)
      // The finish may be among the same parts, where a server answers with one document.
      if (part.type !== "finish" && tokensOf(written) > cutTokens && !parts.some(isFinish)) {
        cut = true
        admitted.push(cutFinish())
      }
    }
    return admitted
  }

  return { admit, isCut: () => cut }
}

const isFinish = (part: ModelPart): part is ModelFinish => part.type === "finish"
