/**
 * One chunk in the row of a term: the low half of its position, how often it says the term, and its length in terms, in the
 * 31 bits of a PostgreSQL integer that aren't its sign. Counts that don't fit are kept as the largest that does.
 */
export const positionBits = 16
export const frequencyBits = 5
export const lengthBits = 10

export const frequencyMax = 2 ** frequencyBits - 1
export const lengthMax = 2 ** lengthBits - 1
const positionMask = 2 ** positionBits - 1

export interface Posting {
  readonly position: number
  readonly frequency: number
  readonly length: number
}

export const pack = ({ frequency, length, position }: Posting): number =>
  ((position & positionMask) << (frequencyBits + lengthBits)) |
  (Math.min(frequency, frequencyMax) << lengthBits) |
  Math.min(length, lengthMax)

/** `base` is the position of the first chunk of the row. */
export const unpack = (base: number, packed: number): Posting => ({
  position: (base & ~positionMask) | (packed >> (frequencyBits + lengthBits)),
  frequency: (packed >> lengthBits) & frequencyMax,
  length: packed & lengthMax
})

/** Rows hold positions with the same high half. */
export const isSameRange = (one: number, other: number): boolean =>
  one >> positionBits === other >> positionBits
