import { Context, Effect, Layer } from "effect"
import { ItemId } from "../domain/Ids.ts"
import { makeNextUuid } from "../domain/OrderedUuids.ts"

/** Makes the ids of items. The events ask for them as they go, so making one is synchronous. */
export class ItemIds extends Context.Service<ItemIds, { readonly next: () => ItemId }>()(
  "parley/responses/ItemIds"
) {
  static readonly layer = Layer.effect(
    ItemIds,
    Effect.map(makeNextUuid, (nextUuid) => ({
      next: () => ItemId.make(nextUuid(), { disableChecks: true })
    }))
  )
}

/** An id without the random digits at its end: the time in milliseconds, and the place among the ids of that time. */
const placeOf = (id: ItemId) => {
  const digits = id.replaceAll("-", "")
  const high = Number.parseInt(digits.slice(13, 16), 16)
  const low = Number.parseInt(digits.slice(16, 24), 16) & 0x3fff_ffff
  return { millisecond: digits.slice(0, 12), version: digits.slice(12, 13), position: high * 2 ** 30 + low }
}

/** Digits of an id that are random. */
const randomDigits = 8

const hexadecimal = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

/**
 * Whether two calls, one stored behind the other, were made in one round. The ids of a round are made in one go, and those of
 * one millisecond count up, so that they follow each other directly.
 */
export const isSameRound = (before: ItemId, id: ItemId): boolean => {
  const [one, other] = [placeOf(before), placeOf(id)]
  return one.millisecond === other.millisecond && one.position + 1 === other.position
}

/** The first id of a new round: it doesn't follow any other directly. */
export const firstOfRound = (nextId: () => ItemId): ItemId => {
  nextId()
  return nextId()
}

/** The id of the next call of a round: it follows the one before it directly, also where the time went on meanwhile. */
export const nextOfRound = (before: ItemId, nextId: () => ItemId): ItemId => {
  const { millisecond, position, version } = placeOf(before)
  const high = hexadecimal(Math.floor((position + 1) / 2 ** 30) & 0xfff, 3)
  const low = hexadecimal(2 ** 31 + ((position + 1) % 2 ** 30), 8)
  const time = `${millisecond.slice(0, 8)}-${millisecond.slice(8)}`
  return ItemId.make(
    `${time}-${version}${high}-${low.slice(0, 4)}-${low.slice(4)}${nextId().slice(-randomDigits)}`
  )
}
