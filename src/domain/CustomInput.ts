import { Option, Schema } from "effect"
import { joinPiece } from "./storable.ts"

/** The input of custom tools, which is a text: models that know only JSON give it as the one argument `input`. */

const head = /^\s*\{\s*"input"\s*:\s*"/
/** The text begins within so many characters, or it is read at the end. */
const headCharactersMax = 256

const plain = /[^"\\\p{Cc}]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy

/** The beginning of the inside of a JSON string that is complete so far. */
const wholeBeginning = (inside: string): string => {
  plain.lastIndex = 0
  let end = 0
  while (plain.test(inside)) end = plain.lastIndex
  return inside.slice(0, end)
}

const decodeString = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.String))
const decodeInput = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ input: Schema.String })))

/** The arguments that stand for an input. */
export const argumentsOf = (input: string): string => JSON.stringify({ input })

/** Reads the text out of arguments that come in pieces: as much of it as is sure, whatever the pieces are. */
export const makeInputReader = () => {
  let all = ""
  let unread = ""
  let carry = ""
  let given = ""
  let isInside = false

  const read = (piece: string): string => {
    unread += piece
    if (!isInside) {
      const found = head.exec(unread.slice(0, headCharactersMax))
      if (found === null) return ""
      isInside = true
      unread = unread.slice(found[0].length)
    }
    const whole = wholeBeginning(unread)
    unread = unread.slice(whole.length)
    const joined = joinPiece(carry, decodeString(`"${whole}"`))
    carry = joined.carry
    return joined.text
  }

  return {
    /** What a piece of the arguments adds to the text. */
    write: (piece: string): string => {
      all += piece
      const text = read(piece)
      given += text
      return text
    },
    /** The rest of the text, once the arguments are whole. Of arguments that are none, what they say is the text. */
    end: (): string => {
      const input = Option.getOrNull(decodeInput(all))?.input
      if (input !== undefined && input.startsWith(given)) return input.slice(given.length)
      return given === "" ? all : carry + unread
    }
  }
}

/** The input in whole arguments. */
export const inputOf = (args: string): string => {
  const reader = makeInputReader()
  return reader.write(args) + reader.end()
}
