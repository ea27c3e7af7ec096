import { SecureRandom } from "effect/crypto"
import { ItemId } from "../domain/Ids.ts"

/** A new id of an item. Those of one process are in the order in which they were made. */
export const nextItemId = (): ItemId => ItemId.make(SecureRandom.uuidV7Unsafe(), { disableChecks: true })
