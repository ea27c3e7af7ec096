import { defaultParseSearch } from "@tanstack/react-router"

/** The dots of a path can hide that it begins with two slashes, and so names a host. */
const resolved = (path: string): URL => new URL(path, "http://localhost")

/** A path of this application to return to, or undefined: nothing that leads to another host is followed. */
export const returnPath = (next: unknown): string | undefined =>
  typeof next === "string" &&
  /^\/(?![/\\])[^\t\n\r]*$/.test(next) &&
  !resolved(next).pathname.startsWith("//")
    ? next
    : undefined

/** The same as the router takes it. */
export const placeOf = (path: string) => {
  const { hash, pathname, search } = resolved(path)
  return { to: pathname, search: defaultParseSearch(search), hash: hash.slice(1) }
}
