import { ConfigProvider, Effect } from "effect"
import { readFile } from "node:fs/promises"
import { shown } from "./Setting.ts"

const secretFileBytesMax = 65_536

/** The text of a variable, without blanks at its ends; undefined where it is not set, or empty. */
export const variable = Effect.fnUntraced(function* (name: string) {
  const provider = yield* ConfigProvider.ConfigProvider
  // The environment is at hand; a provider that can fail would be a mistake of whoever wired it.
  const node = yield* Effect.orDie(provider.load([name]))
  const text = node?.value?.trim()
  return text === "" ? undefined : text
})

/** What was found of a secret. */
export interface FoundSecret {
  /** The variable that the text came from, which is `NAME` or `NAME_FILE`. */
  readonly name: string
  readonly text: string | undefined
  /** What was seen in place of a secret, without anything secret. */
  readonly problem: string | null
}

const fromFile = (path: string) =>
  Effect.tryPromise(() => readFile(path)).pipe(
    Effect.map((bytes): Pick<FoundSecret, "text" | "problem"> => {
      const text = bytes.toString("utf8").trim()
      if (text === "") return { text: undefined, problem: `the file ${shown(path)}, which is empty` }
      return bytes.length <= secretFileBytesMax
        ? { text, problem: null }
        : { text: undefined, problem: `the file ${shown(path)}, which is too long for a secret` }
    }),
    Effect.orElseSucceed(() => ({ text: undefined, problem: `the file ${shown(path)}, which can't be read` }))
  )

/** The text of a variable, or of the file that `NAME_FILE` names. */
export const secretVariable = Effect.fnUntraced(function* (name: string): Effect.fn.Return<FoundSecret> {
  const text = yield* variable(name)
  const fileName = `${name}_FILE`
  const file = yield* variable(fileName)
  if (file === undefined) return { name, text, problem: null }
  if (text !== undefined) {
    return { name, text: undefined, problem: `a value here and another in ${fileName}; one must go` }
  }
  return { name: fileName, ...(yield* fromFile(file)) }
})
