import { Clock, Effect } from "effect"

/** The lower part of the counter, of 30 bits; the upper one has 12. */
const lowMax = 2 ** 30 - 1
/** Stands in front of the lower part. */
const variant = 0x8000_0000

const hexadecimal = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

/**
 * Makes UUIDs of version 7, each after the one before it, also where the clock is set back: the time in milliseconds, a counter of 42 bits that
 * begins at random in the lower half, and 32 random bits. Source: RFC 9562, section 6.2, method 1.
 */
export const makeOrderedUuids = (randomUuid: () => string): ((millis: number) => string) => {
  let time = -1
  let high = 0
  let low = 0
  let beginning = ""

  const begin = (millis: number, counter: number): void => {
    time = millis
    high = counter
    const digits = hexadecimal(time, 12)
    beginning = `${digits.slice(0, 8)}-${digits.slice(8)}-7${hexadecimal(high, 3)}-`
  }

  return (millis) => {
    // Of version 4: all digits but the 13th and the 17th are random.
    const random = randomUuid()
    if (millis > time) {
      begin(millis, Number.parseInt(random.slice(15, 18), 16) >> 1)
      low = Number.parseInt(random.slice(0, 8), 16) & lowMax
    } else if (low < lowMax) low++
    else {
      low = 0
      // No process makes so many ids that these digits don't suffice.
      begin(time, high + 1)
    }
    const rest = (variant + low).toString(16)
    return `${beginning}${rest.slice(0, 4)}-${rest.slice(4)}${random.slice(28)}`
  }
}

/**
 * Makes the ids that every request needs, in the order of what calls it. They take the digits of UUIDs that Node makes ahead, where Effect's own
 * take bytes, and a fiber where plain code asks for them (docs/decisions/speed.md).
 */
export const makeNextUuid: Effect.Effect<() => string> = Effect.map(Clock.Clock, (clock) => {
  const next = makeOrderedUuids(() => crypto.randomUUID())
  return () => next(clock.currentTimeMillisUnsafe())
})
