import { assert } from "@effect/vitest"
import { Schema } from "effect"
import { ProfileEvent } from "../../src/api/openai/ResponseEvents.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ProfileEvent))

/** The events of a whole stream, each of which has the name that its frame says. */
export const framesIn = (text: string): ReadonlyArray<ProfileEvent> =>
  text
    .split("\n\n")
    .filter((frame) => frame.startsWith("event: "))
    .map((frame) => {
      const [name = "", data = ""] = frame.split("\n")
      const event = decode(data.slice("data: ".length))
      assert.strictEqual(name, `event: ${event.type}`)
      return event
    })
