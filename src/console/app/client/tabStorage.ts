import { Option, Schema } from "effect"

/**
 * Keeps values of one kind in the browser's tab, by names: also when the page is loaded again, and until the
 * user signs out.
 */
export const tabStorage = <Value>(prefix: string, schema: Schema.Decoder<Value>) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(schema))
  const keyOf = (name: string) => prefix + name
  const drop = (name: string): void => sessionStorage.removeItem(keyOf(name))
  return {
    /** null where nothing is kept, or something else than the schema says. */
    read: (name: string): Value | null => Option.getOrNull(decode(sessionStorage.getItem(keyOf(name)) ?? "")),
    keep: (name: string, value: Value): void => {
      try {
        sessionStorage.setItem(keyOf(name), JSON.stringify(value))
      } catch {
        // The storage of the browser is full. What was kept before isn't true any more.
        drop(name)
      }
    },
    drop
  }
}
