import { defaultParseSearch } from "@tanstack/react-router"

/** A path of this application to return to, or undefined: nothing that leads to another host is followed. */
export const returnPath = (next: unknown): string | undefined =>
  typeof next === "string" && /^\/(?![/\\])[^\t\n\r]*$/.test(next) ? next : undefined

/** The same as the router takes it. */
export const placeOf = (path: string) => {
  const { hash, pathname, search } = new URL(path, "http://localhost")
  return { to: pathname, search: defaultParseSearch(search), hash: hash.slice(1) }
}
