import { makeTemplateOf, route } from "../http/Routes.ts"
import { pagePaths } from "./PagePaths.ts"

const charactersMax = 1_000

const pageOf = makeTemplateOf(
  Object.values(pagePaths).map((path: string) => route("GET", path.replaceAll("$", ":")))
)

/** Any origin but that of an address with a host of its own. */
const somewhere = "http://localhost"

/** The page to go to after a sign-in, as an address below the application's base: never another site, and no interface. */
export const returnPath = (asked: string | null): string => {
  const url = asked === null || asked.length > charactersMax ? null : URL.parse(asked, somewhere)
  if (url === null || url.origin !== somewhere || pageOf(url.pathname) === null) return pagePaths.home
  // Two slashes at the beginning of an address name another host.
  if (url.pathname.startsWith("//")) return pagePaths.home
  return url.pathname + url.search + url.hash
}
