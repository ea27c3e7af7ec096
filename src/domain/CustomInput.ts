import { Option, Schema } from "effect"
import { joinPiece } from "./storable.ts"

/** The input of tools that take a text: models that know only JSON give it as the one argument `input`. */

const head = /^\s*\{\s*"input"\s*:\s*"/
/** The text must begin within this many characters, or it is read at the end. */
const headCharactersMax = 256

const simpleEscape = String.raw`["\\/bfnrt]`
const unicodeEscape = "u[0-9a-fA-F]{4}"
/**
 * A character, an escape, or a backslash that begins no escape. Excludes a beginning that more characters
 * could make an escape.
 */
const piece = new RegExp(
  String.raw`[^"\\]+|\\(?:${simpleEscape}|${unicodeEscape}|(?!u[0-9a-fA-F]{0,3}$|$))`,
  "y"
)
const escapes = new RegExp(String.raw`\\(?:${simpleEscape}|${unicodeEscape})`, "g")

const decodeString = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.String))
const decodeInput = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ input: Schema.String })))

/** Returns the complete part of the inside of a JSON string. */
const completeIn = (inside: string): string => {
  piece.lastIndex = 0
  let end = 0
  while (piece.test(inside)) end = piece.lastIndex
  return inside.slice(0, end)
}

/** The arguments that represent an input. */
export const argumentsOf = (input: string): string => JSON.stringify({ input })

/** Reads the text from arguments that arrive in pieces of any length. */
export const makeInputReader = () => {
  let all = ""
  /** Text that can't be read yet: a head, or an escape that isn't complete. */
  let unread = ""
  let carry = ""
  let given = ""
  let at: "head" | "inside" | "behind" | "other" = "head"

  const read = (more: string): string => {
    if (at === "behind" || at === "other") return ""
    unread += more
    if (at === "head") {
      const found = head.exec(unread.slice(0, headCharactersMax))
      if (found === null) {
        if (unread.length >= headCharactersMax) at = "other"
        return ""
      }
      at = "inside"
      unread = unread.slice(found[0].length)
    }
    const complete = completeIn(unread)
    unread = unread.slice(complete.length)
    if (unread.startsWith('"')) at = "behind"
    const joined = joinPiece(
      carry,
      complete.replace(escapes, (one) => decodeString(`"${one}"`))
    )
    carry = joined.carry
    return joined.text
  }

  return {
    /** Returns the text that a piece of the arguments adds. */
    write: (more: string): string => {
      all += more
      const text = read(more)
      given += text
      return text
    },
    /**
     * The rest of the text, once the arguments are complete. Invalid arguments are used as the text itself.
     */
    end: (): string => {
      if (at === "inside") return carry + unread
      if (at === "behind") return carry
      return Option.match(decodeInput(all), { onNone: () => all, onSome: ({ input }) => input })
    }
  }
}

/** The input in complete arguments. */
export const inputOf = (args: string): string => {
  const reader = makeInputReader()
  return reader.write(args) + reader.end()
}
